"""Experiments for programs."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict
from typing import Any, cast
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from common.api import FormatIsOurs, Pagination
from common.api_views import checked, page_of
from common.database import in_database_thread
from conversations.comparing.results import votes_of
from conversations.experiments import export, selectors, services
from conversations.models import Experiment


class GridIn(serializers.Serializer[Any]):
    """Described for readers; `plan.grid_read` is what checks it."""

    name = serializers.CharField(max_length=100)
    scenarios = serializers.ListField(child=serializers.CharField(), help_text="Slugs.")
    models = serializers.ListField(child=serializers.CharField(), required=False, help_text="Slugs.")
    pairs = serializers.ChoiceField(choices=["ordered", "unordered", "listed"], required=False)
    listed = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()), required=False, help_text="Pairs of slugs."
    )
    self_pairs = serializers.BooleanField(required=False, help_text="Also each model with itself.")
    iterations = serializers.IntegerField(required=False)
    turns = serializers.IntegerField(required=False)
    temperature = serializers.ListField(
        child=serializers.FloatField(allow_null=True), required=False,
        help_text="One value, or several; null leaves it to the model. Each pair plays at every combination with those "
        "of `top_p` and `max_tokens`.",
    )  # fmt: skip
    top_p = serializers.ListField(
        child=serializers.FloatField(allow_null=True), required=False, help_text="As `temperature`."
    )
    max_tokens = serializers.ListField(
        child=serializers.IntegerField(allow_null=True), required=False, help_text="Of each turn; as `temperature`."
    )
    seed = serializers.IntegerField(required=False, allow_null=True)
    stop_phrase = serializers.CharField(required=False, allow_blank=True)
    stops_on_goodbye = serializers.BooleanField(required=False)
    stops_on_repetition = serializers.BooleanField(required=False)
    scenario_versions = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text="Of those that are not to be the newest, by slug."
    )
    dry_run = serializers.BooleanField(default=False, help_text="Only say what it means; nothing is stored.")


class EstimateOut(serializers.Serializer[Any]):
    conversations = serializers.IntegerField()
    turns = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True, help_text="US dollars; null where no model has a price.")
    seconds = serializers.FloatField()


class CountsOut(serializers.Serializer[Any]):
    conversations = serializers.IntegerField()
    ended = serializers.IntegerField()
    running = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="Stand still at a turn that failed.")
    turns = serializers.IntegerField()
    turns_planned = serializers.IntegerField()
    refusals = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField()
    errors = serializers.DictField(  # type: ignore[assignment] # hides the serializer's own, which is of no use here
        child=serializers.IntegerField(), help_text="How many attempts failed, by kind."
    )
    turns_a_minute = serializers.FloatField(allow_null=True, help_text="Over the last five minutes.")
    seconds_left = serializers.IntegerField(allow_null=True, help_text="Until the end, at that pace.")


class ExperimentOut(serializers.Serializer[Any]):
    id = serializers.CharField(allow_null=True, help_text="Null for a dry run.")
    name = serializers.CharField()
    state = serializers.CharField(help_text="Of its job: queued, running, done, failed or cancelled.")
    grid = serializers.JSONField()
    sharing = serializers.ChoiceField(
        choices=Experiment.Sharing.choices, help_text="Who compares its conversations: see docs/experiments.md."
    )
    estimate = EstimateOut(allow_null=True)
    counts = CountsOut(allow_null=True, help_text="Null in a list, and for a dry run.")


class SharingIn(serializers.Serializer[Any]):
    sharing = serializers.ChoiceField(choices=Experiment.Sharing.choices)


class PairVotesOut(serializers.Serializer[Any]):
    first = serializers.CharField(help_text="A model's slug.")
    second = serializers.CharField()
    wins = serializers.IntegerField(help_text="Of the first.")
    ties = serializers.IntegerField()
    losses = serializers.IntegerField()
    both_bad = serializers.IntegerField()
    voters = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True, help_text="Of the first, a tie being half; without both bad.")
    lower = serializers.FloatField(allow_null=True, help_text="Of its 95% interval over voters; null below three.")
    upper = serializers.FloatField(allow_null=True)


class ExperimentVotesOut(serializers.Serializer[Any]):
    votes = serializers.IntegerField()
    voters = serializers.IntegerField()
    pairs = PairVotesOut(many=True)


class ExportFormatIn(serializers.Serializer[Any]):
    format = serializers.ChoiceField(choices=list(export.FORMATS), default="jsonl")


def _user(request: Request) -> User:
    return cast(User, request.user)


def _state(experiment: Experiment, estimate: Any = None, *, is_row: bool = False) -> dict[str, Any]:
    """`is_row`: in a list, where counting for each would be a query for each."""
    return {
        "id": str(experiment.pk),
        "name": experiment.name,
        "state": experiment.job.state if experiment.job else "",
        "grid": experiment.grid,
        "sharing": experiment.sharing,
        "estimate": estimate and asdict(estimate),
        "counts": None if is_row else selectors.experiment_progress(experiment),
    }


class ExperimentsView(Idempotent, APIView):
    required_scopes = {"GET": Scope.READ, "POST": Scope.RUN}
    pagination_class = Pagination

    @extend_schema(operation_id="experiments_list", responses=ExperimentOut(many=True))
    def get(self, request: Request) -> Response:
        """Your experiments, newest first."""
        found = Experiment.objects.filter(owner=_user(request)).select_related("job")
        return page_of(self, found, ExperimentOut, shown=lambda page: [_state(one, is_row=True) for one in page])

    @extend_schema(
        operation_id="experiments_create", request=GridIn, responses={200: ExperimentOut, 201: ExperimentOut}
    )
    def post(self, request: Request) -> Response:
        """Price a grid, and with `dry_run` no more than that; else store it and have a worker play it."""
        given = dict(request.data) if isinstance(request.data, dict) else {}
        is_dry = given.pop("dry_run", False) is True
        grid = services.grid_check(owner=_user(request), given=given)
        estimate = services.experiment_estimate(owner=_user(request), grid=grid)
        if is_dry:
            dry = {
                "id": None,
                "name": grid.name,
                "state": "",
                "grid": given,
                "sharing": Experiment.Sharing.NOBODY,
                "estimate": asdict(estimate),
                "counts": None,
            }
            return Response(ExperimentOut(dry).data)
        made = services.experiment_create(owner=_user(request), given=given)
        services.experiment_start(experiment_id=made.pk, owner=_user(request))
        made.refresh_from_db()
        return Response(ExperimentOut(_state(made, estimate)).data, status=201)


class ExperimentView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="experiments_read", responses=ExperimentOut)
    def get(self, request: Request, experiment_id: UUID) -> Response:
        """How far it is."""
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=_user(request))
        return Response(ExperimentOut(_state(experiment)).data)


class ExperimentCancelView(APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="experiments_cancel", request=None, responses=ExperimentOut)
    def post(self, request: Request, experiment_id: UUID) -> Response:
        """Stand still after the turns that are being written. `retry/` goes on."""
        services.experiment_cancel(experiment_id=experiment_id, owner=_user(request))
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=_user(request))
        return Response(ExperimentOut(_state(experiment)).data)


class ExperimentRetryView(Idempotent, APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="experiments_retry", request=None, responses={201: ExperimentOut})
    def post(self, request: Request, experiment_id: UUID) -> Response:
        """Play what is missing, turns that failed included."""
        services.experiment_start(experiment_id=experiment_id, owner=_user(request))
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=_user(request))
        return Response(ExperimentOut(_state(experiment)).data, status=201)


class ExperimentSharingView(APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="experiments_share", request=SharingIn, responses=ExperimentOut)
    def post(self, request: Request, experiment_id: UUID) -> Response:
        """Let others of this arena compare its conversations blind, or no longer."""
        given = SharingIn(data=request.data)
        given.is_valid(raise_exception=True)
        services.experiment_share(experiment_id=experiment_id, owner=_user(request), **given.validated_data)
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=_user(request))
        return Response(ExperimentOut(_state(experiment)).data)


class ExperimentVotesView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="experiments_votes", responses=ExperimentVotesOut)
    def get(self, request: Request, experiment_id: UUID) -> Response:
        """What people said of its conversations, by the two models that it was about."""
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=_user(request))
        return Response(ExperimentVotesOut(asdict(votes_of(experiment))).data)


class ExperimentExportView(APIView):
    required_scopes = Scope.EXPORT
    content_negotiation_class = FormatIsOurs

    @extend_schema(
        operation_id="experiments_export",
        parameters=[ExportFormatIn],
        responses={
            (200, media): OpenApiTypes.BINARY
            for media in ("application/jsonl", "text/csv", "application/vnd.apache.parquet")
        },
    )
    def get(self, request: Request, experiment_id: UUID) -> StreamingHttpResponse:
        """The log, a row a turn; or the manifest, which is all that is needed to run it again."""
        asked = checked(ExportFormatIn, request.query_params)
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=_user(request))
        chosen = export.FORMATS[asked["format"]]
        headers = {
            "Content-Disposition": f'attachment; filename="{chosen.file_name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        pieces = _streamed(chosen.write(experiment))
        return StreamingHttpResponse(pieces, content_type=chosen.media_type, headers=headers)


async def _streamed(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Django would read a plain iterator to its end before it sends a byte."""
    take = in_database_thread(lambda: next(pieces, None))
    while (piece := await take()) is not None:
        yield piece
