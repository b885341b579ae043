"""What to look at in an experiment."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _


class AnalyseForm(forms.Form):
    measure = forms.ChoiceField(
        label=_("Measure"),
        choices=[
            ("latency_ms", _("Latency, ms")),
            ("output_tokens", _("Tokens written")),
            ("length", _("Length, characters")),
            ("refusals", _("Share of refusals")),
        ],
    )
    by = forms.ChoiceField(
        label=_("By"), choices=[("model", _("Model")), ("scenario", _("Scenario")), ("turn", _("Turn"))]
    )
    model = forms.ChoiceField(label=_("Only this model"), required=False)
    scenario = forms.ChoiceField(label=_("Only this scenario"), required=False)

    def __init__(self, *args: Any, grid: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        models = sorted({*grid["models"], *(slug for pair in grid["listed"] for slug in pair)})
        for name, slugs in (("model", models), ("scenario", grid["scenarios"])):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", _("All")), *((slug, slug) for slug in slugs)]

    def chosen(self) -> dict[str, str]:
        """What was asked for, else latency by model."""
        if self.is_bound and self.is_valid():
            return dict(self.cleaned_data)
        return {"measure": "latency_ms", "by": "model", "model": "", "scenario": ""}
