"""What the analyse pages show, for programs: the same figures from the same place."""

from dataclasses import asdict
from typing import Any, cast
from uuid import UUID

from django import forms
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope, User
from conversations.experiments import selectors
from conversations.experiments.figures import GROUPS, MEASURES
from conversations.experiments.forms import AnalyseForm, CompareForm
from conversations.experiments.looking import beside, comparisons_of, look, summary_row
from conversations.experiments.sample import Sample


class FiguresIn(serializers.Serializer[Any]):
    measure = serializers.ChoiceField(choices=list(MEASURES), default="latency_ms")
    by = serializers.ChoiceField(choices=list(GROUPS), default="model", help_text="What makes a group.")
    model = serializers.CharField(default="", allow_blank=True, help_text="A slug: its turns only.")
    scenario = serializers.CharField(default="", allow_blank=True, help_text="A slug: its turns only.")


class BesideIn(serializers.Serializer[Any]):
    first = serializers.UUIDField(help_text="An experiment.")
    first_scenario = serializers.CharField(default="", allow_blank=True, help_text="A slug: its turns only.")
    second = serializers.UUIDField(help_text="Another experiment, or the same with another scenario.")
    second_scenario = serializers.CharField(default="", allow_blank=True)
    measure = serializers.ChoiceField(choices=list(MEASURES), default="latency_ms")
    by = serializers.ChoiceField(
        choices=list(GROUPS), default="", allow_blank=True, help_text="Also group by group, where both have it."
    )


class SampleOut(serializers.Serializer[Any]):
    turns = serializers.IntegerField()
    conversations = serializers.IntegerField()
    of = serializers.IntegerField(help_text="Conversations that fit and have begun.")
    is_whole = serializers.BooleanField(help_text="Else whole conversations were drawn at random, always the same.")


class DistributionOut(serializers.Serializer[Any]):
    turns = serializers.IntegerField()
    conversations = serializers.IntegerField()
    mean = serializers.FloatField()
    lower = serializers.FloatField(allow_null=True, help_text="Of the 95% interval of the mean; null below three.")
    upper = serializers.FloatField(allow_null=True)
    p5 = serializers.FloatField()
    p25 = serializers.FloatField()
    median = serializers.FloatField()
    p75 = serializers.FloatField()
    p95 = serializers.FloatField()


class GroupOut(DistributionOut):
    group = serializers.CharField()


class DifferenceOut(serializers.Serializer[Any]):
    difference = serializers.FloatField(help_text="Of the means over turns: first less second.")
    lower = serializers.FloatField(help_text="Of its 95% interval.")
    upper = serializers.FloatField()
    delta = serializers.FloatField(help_text="Cliff's, from -1 to 1, by the means of conversations.")
    size = serializers.CharField(help_text="Of delta: negligible, small, medium or large.")
    p = serializers.FloatField(help_text="Of the Mann-Whitney test, two-sided, by the means of conversations.")
    p_held = serializers.FloatField(help_text="Held against the number of comparisons by Holm's method.")


class PairOfGroupsOut(DifferenceOut):
    first = serializers.CharField()
    second = serializers.CharField()


class ExperimentFiguresOut(serializers.Serializer[Any]):
    measure = serializers.CharField()
    by = serializers.CharField()
    sample = SampleOut()
    groups = GroupOut(many=True)
    differences = PairOfGroupsOut(
        many=True, help_text="Every two of the first twelve groups with three conversations at least; none by turn."
    )


class BesideGroupOut(serializers.Serializer[Any]):
    group = serializers.CharField()
    first = DistributionOut()
    second = DistributionOut()


class BesideDifferenceOut(DifferenceOut):
    group = serializers.CharField()


class BesideOut(serializers.Serializer[Any]):
    measure = serializers.CharField()
    by = serializers.CharField()
    names = serializers.ListField(child=serializers.CharField(), help_text="Of the first and of the second.")
    samples = SampleOut(many=True, help_text="Of the first and of the second.")
    groups = BesideGroupOut(many=True, help_text="All turns, then the groups that both have.")
    differences = BesideDifferenceOut(many=True)


def _asked(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    given = shape(data=request.query_params)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def _checked(form: forms.Form) -> None:
    """What the page refuses is refused here, too."""
    if not form.is_valid():
        named = ((name if name in form.fields else "non_field_errors", said) for name, said in form.errors.items())
        raise serializers.ValidationError({name: [str(one) for one in said] for name, said in named})


def _sample(sample: Sample) -> dict[str, Any]:
    return {name: getattr(sample, name) for name in ("conversations", "of", "is_whole")} | {"turns": len(sample.said)}


class ExperimentFiguresView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="experiments_figures", parameters=[FiguresIn], responses=ExperimentFiguresOut)
    def get(self, request: Request, experiment_id: UUID) -> Response:
        """A measure by group, as the analyse page shows it: distributions with intervals, and every two groups
        compared."""
        asked = _asked(request, FiguresIn)
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=cast(User, request.user))
        form = AnalyseForm(asked, grid=experiment.grid)
        _checked(form)
        looked, sample = look(experiment, **form.chosen())
        shown = {
            "measure": asked["measure"],
            "by": asked["by"],
            "sample": _sample(sample),
            "groups": [summary_row(one) | {"group": one.group} for one in looked.summaries],
            "differences": [asdict(one) for one in comparisons_of(looked, sample)],
        }
        return Response(ExperimentFiguresOut(shown).data)


class ExperimentsBesideView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="experiments_compare", parameters=[BesideIn], responses=BesideOut)
    def get(self, request: Request) -> Response:
        """Two experiments, or two scenarios, beside each other: as a whole, then group by group."""
        asked = _asked(request, BesideIn)
        viewer = cast(User, request.user)
        named = [selectors.experiment_get(experiment_id=asked[side], viewer=viewer) for side in ("first", "second")]
        form = CompareForm(asked, experiments=named)
        _checked(form)
        found, samples = beside(form.part("first"), form.part("second"), measure=asked["measure"], by=asked["by"])
        shown = {
            "measure": asked["measure"],
            "by": asked["by"],
            "names": found.names,
            "samples": [_sample(one) for one in samples],
            "groups": [
                {"group": name, "first": summary_row(one), "second": summary_row(other)}
                for name, one, other in found.summaries
            ],
            "differences": [asdict(one) | {"group": name} for name, one in found.comparisons],
        }
        return Response(BesideOut(shown).data)
