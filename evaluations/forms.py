"""The form of a new run."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evaluations.models import QuestionSet, Run
from evaluations.selectors import is_judged_by_itself
from providers.models import LanguageModel


class RunForm(forms.Form):
    name = forms.SlugField(label=_("Name"), max_length=100, help_text=_("Letters, digits and hyphens; given once."))
    question_set = forms.ModelChoiceField(
        label=_("Questions"), queryset=QuestionSet.objects.all(), to_field_name="slug", empty_label=None
    )
    models = forms.ModelMultipleChoiceField(
        label=_("Models"), queryset=LanguageModel.objects.none(), to_field_name="slug",
        widget=forms.CheckboxSelectMultiple,
    )  # fmt: skip
    judges = forms.ModelMultipleChoiceField(
        label=_("Judges"), queryset=LanguageModel.objects.none(), to_field_name="slug",
        widget=forms.CheckboxSelectMultiple, required=False,
        help_text=_("A judge that judges itself is marked in the results. Only questions with scorers need none."),
    )  # fmt: skip
    mode = forms.ChoiceField(label=_("How they judge"), choices=Run.Mode.choices)
    baseline = forms.ModelChoiceField(
        label=_("Baseline"), queryset=LanguageModel.objects.none(), to_field_name="slug", required=False,
        help_text=_("Only for pairs with a baseline."),
    )  # fmt: skip
    max_questions = forms.IntegerField(
        label=_("At most so many questions"), min_value=1, required=False, help_text=_("Spread over the categories.")
    )
    repeats = forms.IntegerField(
        label=_("How often each judge judges the same"), min_value=1, max_value=16, initial=1, required=False
    )
    seed = forms.IntegerField(label=_("Seed"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        active = LanguageModel.objects.active().select_related("endpoint")
        for name in ("models", "judges", "baseline"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = active

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not data.get("judges") and data.get("question_set") and not is_judged_by_itself(data["question_set"]):
            self.add_error("judges", _("This question set needs a judge."))
        return data

    def wanted(self) -> dict[str, Any]:
        """What `run_create` takes, but for the owner."""
        data = self.cleaned_data
        options = {"max_questions": data["max_questions"], "repeats": data["repeats"] or 1, "seed": data["seed"]}
        names = ("name", "question_set", "models", "judges", "mode", "baseline")
        return {name: data[name] for name in names} | {"options": options}
