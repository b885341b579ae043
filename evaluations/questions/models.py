"""What is asked, what judges may go by, and how they are asked."""

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from evaluations.judges import RUBRIC_PLACEHOLDERS, template_problem
from evaluations.scorers import ScorerInvalid, scorers_read
from evaluations.verdicts import RATINGS_FORM, READERS

TURNS_MAX = 50


def are_turns(value: object) -> None:
    """A validator: one or more texts."""
    if not isinstance(value, list) or not value or not all(isinstance(turn, str) and turn.strip() for turn in value):
        raise ValidationError(_("This must be a list of one or more texts."))


def are_scorers(value: object) -> None:
    """A validator: scorers as evaluations/scorers.py describes them. Their turns are looked at with the question's."""
    try:
        scorers_read(value, turns=TURNS_MAX)
    except ScorerInvalid as error:
        raise ValidationError(_("These are no scorers: %(error)s"), params={"error": str(error)}) from error


def is_template(value: str) -> None:
    """A validator: only placeholders that are known."""
    if problem := template_problem(value):
        raise ValidationError(problem)


class QuestionSet(models.Model):
    """Questions that belong together, for example the eighty of MT-bench."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    licence = models.CharField(max_length=100, blank=True, help_text=_("Under which the questions may be used."))
    source = models.CharField(max_length=500, blank=True, help_text=_("Where they come from: an address, or words."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Question(models.Model):
    """What is asked, in one or more turns."""

    question_set = models.ForeignKey(QuestionSet, on_delete=models.CASCADE, related_name="questions")
    number = models.PositiveIntegerField(help_text=_("Its id in files; unique in the set."))
    category = models.CharField(max_length=32)
    turns = models.JSONField(validators=[are_turns], help_text=_("What the user says, turn by turn."))
    hints = models.JSONField(default=list, blank=True, help_text=_("What the question file calls its reference."))
    scorers = models.JSONField(
        default=list,
        blank=True,
        validators=[are_scorers],
        help_text=_("How answers are scored, as docs/evaluations.md says; empty: by judges."),
    )

    class Meta:
        ordering = ["question_set", "number"]
        constraints = [models.UniqueConstraint(fields=["question_set", "number"], name="question_once_a_set")]

    def __str__(self) -> str:
        return f"{self.number}: {self.turns[0][:60]}"

    def clean(self) -> None:
        if isinstance(self.turns, list):
            try:
                scorers_read(self.scorers, turns=len(self.turns))
            except ScorerInvalid as error:
                raise ValidationError({"scorers": str(error)}) from error


class ReferenceAnswer(models.Model):
    """An answer that judges may go by. A correction is a new version; runs say which one they were judged with."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="references")
    version = models.PositiveIntegerField(default=1)
    author = models.CharField(max_length=100, help_text=_("Who wrote it: a person, or a model."))
    turns = models.JSONField(validators=[are_turns])
    doubt = models.TextField(blank=True, help_text=_("Why it may be wrong; empty where nobody says so."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["question", "-version"]
        constraints = [models.UniqueConstraint(fields=["question", "version"], name="reference_once_a_version")]

    def __str__(self) -> str:
        return f"{self.question_id}, version {self.version}"


class JudgePrompt(models.Model):
    """How a judge is asked. A change is a new version, so that old judgments can be read with what was asked."""

    class Kind(models.TextChoices):
        SINGLE = "single", _("One answer, graded")
        PAIR = "pair", _("Two answers, compared")
        RUBRIC = "rubric", _("One answer, rated by criteria")

    class Scope(models.TextChoices):
        ANY = "any", _("Any turn")
        FIRST = "first", _("The first turn")
        LATER = "later", _("Later turns")

    family = models.SlugField(help_text=_("Prompts that belong together, for example tourney or fastchat."))
    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.ANY)
    has_reference = models.BooleanField(default=False)
    system_prompt = models.TextField(blank=True)
    template = models.TextField(validators=[is_template])
    output_format = models.CharField(max_length=32, choices=[(form, form) for form in (*READERS, RATINGS_FORM)])
    description = models.TextField(blank=True)
    category = models.CharField(max_length=32, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["family", "name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["family", "name", "version"], name="judge_prompt_once_a_version")
        ]

    def __str__(self) -> str:
        return f"{self.name}, version {self.version}"

    def clean(self) -> None:
        is_rubric = self.kind == self.Kind.RUBRIC
        if is_rubric != (self.output_format == RATINGS_FORM):
            raise ValidationError(
                {"output_format": _("Ratings by criterion are the form of rubrics, and only theirs.")}
            )
        if not is_rubric and any(f"{{{name}}}" in self.template for name in RUBRIC_PLACEHOLDERS):
            raise ValidationError({"template": _("Only a rubric has criteria.")})
