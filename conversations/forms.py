"""The form of a scenario."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from conversations.models import Scenario
from conversations.scenarios import FIELDS


class ScenarioForm(forms.ModelForm):  # type: ignore[type-arg] # cannot be subscripted at run time
    """Checks lengths only; the services say the rest, and where."""

    class Meta:
        model = Scenario
        fields = FIELDS
        labels = {
            "name_a": _("Name of agent A"),
            "name_b": _("Name of agent B"),
            "system_a": _("System prompt of agent A"),
            "system_b": _("System prompt of agent B"),
            "first_side": _("Who begins"),
        }
        help_texts = {
            "system_a": _("{name}, {other}, {persona} and {turns} are filled in; write {{ for a brace."),
        }
        widgets = {
            "description": forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
            "system_a": forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
            "system_b": forms.Textarea(attrs={"rows": 6, "dir": "auto"}),
            "opening": forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
        }

    def values(self) -> dict[str, Any]:
        return {field: self.cleaned_data[field] for field in FIELDS}
