"""The form of a new run."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evaluations.models import JudgePrompt, QuestionSet, Run
from evaluations.options import Options
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
    choices = forms.IntegerField(
        label=_("Answers of each model to each question"), min_value=1, max_value=16, initial=1, required=False
    )
    temperature = forms.FloatField(
        label=_("Temperature"), min_value=0, max_value=5, required=False,
        help_text=_("For all categories; without it, those of MT-bench."),
    )  # fmt: skip
    max_tokens = forms.IntegerField(
        label=_("Most tokens of an answer"), min_value=1, max_value=1_000_000, initial=Options().max_tokens,
        required=False,
    )  # fmt: skip
    judge_max_tokens = forms.IntegerField(
        label=_("Most tokens of a judgment"), min_value=1, max_value=1_000_000, initial=Options().judge_max_tokens,
        required=False,
    )  # fmt: skip
    prompts = forms.ChoiceField(label=_("Judge prompts"), required=False)
    without_references = forms.BooleanField(label=_("Judge without reference answers"), required=False)
    memory_limit = forms.FloatField(
        label=_("Memory limit in GiB"), min_value=0.001, required=False,
        help_text=_("Models on our own engines that need more are refused; of others it is only measured."),
    )  # fmt: skip

    MORE = (
        "repeats", "seed", "choices", "temperature", "max_tokens", "judge_max_tokens", "prompts", "without_references",
        "memory_limit",
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        active = LanguageModel.objects.active().select_related("endpoint")
        for name in ("models", "judges", "baseline"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = active
        families = set(JudgePrompt.objects.values_list("family", flat=True)) | {Options().prompts}
        prompts = self.fields["prompts"]
        assert isinstance(prompts, forms.ChoiceField)
        ours_first = sorted(families, key=lambda family: (family != Options().prompts, family))
        prompts.choices = [(family, family) for family in ours_first]

    @property
    def usual(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.MORE]

    @property
    def more(self) -> list[forms.BoundField]:
        """What is rarely set."""
        return [field for field in self if field.name in self.MORE]

    @property
    def shows_more(self) -> bool:
        """Whether something of that is set, or wrong."""
        return self.is_bound and any(field.errors or field.name in self.changed_data for field in self.more)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not data.get("judges") and data.get("question_set") and not is_judged_by_itself(data["question_set"]):
            self.add_error("judges", _("This question set needs a judge."))
        return data

    def wanted(self) -> dict[str, Any]:
        """What `run_create` takes, but for the owner."""
        data = self.cleaned_data
        given = (
            "max_questions", "repeats", "seed", "choices", "max_tokens", "judge_max_tokens", "prompts", "memory_limit",
        )  # fmt: skip
        options = {name: data[name] for name in given if data[name] not in (None, "")}
        if data["temperature"] is not None:
            categories = data["question_set"].questions.order_by().values_list("category", flat=True).distinct()
            options["temperatures"] = dict.fromkeys(sorted(categories), data["temperature"])
        if data["without_references"]:
            options["with_references"] = False
        names = ("name", "question_set", "models", "judges", "mode", "baseline")
        return {name: data[name] for name in names} | {"options": options}
