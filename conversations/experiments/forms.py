"""What to look at in an experiment, and what to put beside it."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from conversations.experiments.figures import GROUPS, MEASURES
from conversations.experiments.looking import Part
from conversations.models import Experiment

MEASURE_CHOICES = [(name, one.label) for name, one in MEASURES.items()]


class AnalyseForm(forms.Form):
    measure = forms.ChoiceField(label=_("Measure"), choices=MEASURE_CHOICES)
    by = forms.ChoiceField(label=_("By"), choices=list(GROUPS.items()))
    model = forms.ChoiceField(label=_("Only this model"), required=False)
    scenario = forms.ChoiceField(label=_("Only this scenario"), required=False)

    def __init__(self, *args: Any, grid: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        models = sorted({*grid["models"], *(slug for pair in grid["listed"] for slug in pair)})
        for name, slugs in (("model", models), ("scenario", grid["scenarios"])):
            _choices(self.fields[name], [("", _("All")), *((slug, slug) for slug in slugs)])

    def chosen(self) -> dict[str, str]:
        """What was asked for, else latency by model."""
        if self.is_bound and self.is_valid():
            return dict(self.cleaned_data)
        return {"measure": "latency_ms", "by": "model", "model": "", "scenario": ""}


class CompareForm(forms.Form):
    first = forms.ChoiceField(label=_("First experiment"))
    first_scenario = forms.ChoiceField(label=_("Its scenario"), required=False)
    second = forms.ChoiceField(label=_("Second experiment"))
    second_scenario = forms.ChoiceField(label=_("Its scenario"), required=False)
    measure = forms.ChoiceField(label=_("Measure"), choices=MEASURE_CHOICES)
    by = forms.ChoiceField(label=_("Also by"), required=False, choices=[("", _("All turns together")), *GROUPS.items()])

    def __init__(self, *args: Any, experiments: Iterable[Experiment], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.experiments = {str(one.pk): one for one in experiments}
        slugs = sorted({slug for one in self.experiments.values() for slug in one.grid["scenarios"]})
        for side in ("first", "second"):
            _choices(self.fields[side], [(id_, one.name) for id_, one in self.experiments.items()])
            _choices(self.fields[f"{side}_scenario"], [("", _("All")), *((slug, slug) for slug in slugs)])

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        for side in ("first", "second"):
            experiment, scenario = self.experiments.get(given.get(side, "")), given.get(f"{side}_scenario")
            if experiment and scenario and scenario not in experiment.grid["scenarios"]:
                self.add_error(f"{side}_scenario", _("This experiment does not play this scenario."))
        if not self.errors and self.part("first") == self.part("second"):
            raise forms.ValidationError(_("Both are the same. Choose another experiment or another scenario."))
        return given

    def part(self, side: str) -> Part:
        return Part(self.experiments[self.cleaned_data[side]], self.cleaned_data[f"{side}_scenario"])


def _choices(field: forms.Field, choices: list[Any]) -> None:
    assert isinstance(field, forms.ChoiceField)
    field.choices = choices
