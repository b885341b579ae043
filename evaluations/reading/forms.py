"""What a reader chooses: which answers, which two runs, which file of votes."""

from typing import Any
from uuid import UUID

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from evaluations.models import Run
from evaluations.reading.answers import ORDERS, Filter
from providers.models import LanguageModel

SHOWN_MAX = 8
# All models stand side by side where there are no more than these; else the best two.
SHOWN_ALL = 4
ORDER_WORDS = {
    "number": _("Number"),
    "gap": _("Widest gap first"),
    "apart": _("Judges furthest apart first"),
    "lowest": _("Lowest score first"),
}


class AnswersForm(forms.Form):
    """Bad values never refuse a page: what is not understood is left out."""

    models = forms.MultipleChoiceField(label=_("Models"), required=False, widget=forms.CheckboxSelectMultiple)
    category = forms.ChoiceField(label=_("Category"), required=False)
    turn = forms.TypedChoiceField(label=_("Turn"), required=False, coerce=int, empty_value=None)
    gap = forms.FloatField(label=_("Scores at least so far apart"), required=False, min_value=0, max_value=10)
    apart = forms.FloatField(label=_("Judges at least so far apart"), required=False, min_value=0, max_value=10)
    below = forms.FloatField(label=_("A score below"), required=False, min_value=0, max_value=11)
    failed = forms.BooleanField(label=_("Only with a failed answer or verdict"), required=False)
    order = forms.ChoiceField(label=_("Order"), required=False, choices=[(one, ORDER_WORDS[one]) for one in ORDERS])

    def __init__(self, *args: Any, models: list[LanguageModel], categories: list[str], turns: int, **kwargs: Any):
        kwargs["label_suffix"] = ""
        super().__init__(*args, **kwargs)
        self.contenders = models
        choices: dict[str, list[tuple[Any, Any]]] = {
            "models": [(model.slug, model.name) for model in models],
            "category": [("", _("All"))] + [(name, name) for name in categories],
            "turn": [("", _("All"))] + [(turn, turn) for turn in range(1, turns + 1)],
        }
        for name, values in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = values

    def chosen(self) -> tuple[list[LanguageModel], Filter]:
        """The models to show, and the filter. `models` come in the order in which they rank."""
        self.is_valid()
        data = {name: value for name, value in self.cleaned_data.items() if value not in (None, "", [])}
        slugs = data.pop("models", [])
        shown = [model for model in self.contenders if model.slug in slugs][:SHOWN_MAX]
        if not shown:
            shown = self.contenders if len(self.contenders) <= SHOWN_ALL else self.contenders[:2]
        return shown, Filter(models=tuple(model.name for model in shown), **data)


class RunChoiceField(forms.ModelChoiceField):  # type: ignore[type-arg] # it cannot be subscripted at run time
    """A run by its name, with what it asked: only runs of one question set can be compared."""

    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} · {obj.question_set}"


class CompareForm(forms.Form):
    """`models` holds the names of each run's models, by its id: the page narrows the choice to them."""

    first = RunChoiceField(label=_("First run"), queryset=Run.objects.none(), empty_label=None)
    second = RunChoiceField(label=_("Second run"), queryset=Run.objects.none(), empty_label=None)
    first_model = forms.ChoiceField(label=_("First model"), required=False)
    second_model = forms.ChoiceField(label=_("Second model"), required=False)

    def __init__(self, *args: Any, runs: QuerySet[Run], **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.models: dict[str, list[str]] = {}
        for run_id, name in runs.order_by("pk", "contenders__name").values_list("pk", "contenders__name"):
            self.models.setdefault(str(run_id), []).extend([name] if name else [])
        for name in ("first", "second"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = runs
        every = sorted({name for names in self.models.values() for name in names})
        for name in ("first_model", "second_model"):
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", _("All that both runs have")), *((one, one) for one in every)]
            field.error_messages["invalid_choice"] = _("No run that you see has a model %(value)s.")
        if not self.is_bound and "second" not in self.initial:
            self.initial["second"] = _beside(runs, str(self.initial.get("first", "")))


def _beside(runs: QuerySet[Run], run_id: str) -> UUID | None:
    """The newest other run of the same questions, or the run itself where there is none: its models can be compared."""
    try:
        first = runs.filter(pk=UUID(run_id)).first()
    except ValueError:
        return None
    if first is None:
        return None
    others = runs.filter(question_set=first.question_set_id).exclude(pk=first.pk).order_by("-created_at")
    return others.values_list("pk", flat=True).first() or first.pk


class VotesForm(forms.Form):
    name = forms.SlugField(label=_("Name"), max_length=100, help_text=_("Letters, digits and hyphens; given once."))
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "The joined CSV of votes of people and judges, or FastChat's human judgments as JSON or JSON Lines."
        ),
    )
    run = forms.ModelChoiceField(
        label=_("Run"), queryset=Run.objects.none(), required=False,
        help_text=_("Whose judges the votes are held against, where the file names none."),
    )  # fmt: skip

    def __init__(self, *args: Any, runs: QuerySet[Run], **kwargs: Any):
        super().__init__(*args, **kwargs)
        field = self.fields["run"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = runs
