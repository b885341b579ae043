"""Questions, the runs in which models answer them, and what judges say of the answers."""

import uuid

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from evaluations.judges import template_problem
from evaluations.verdicts import READERS, State, Winner
from providers.models import GeneratedText, LanguageModel

# Source: FastChat, fastchat/llm_judge/common.py (NEED_REF_CATS)
REFERENCE_CATEGORIES = ("math", "reasoning", "coding")


def are_turns(value: object) -> None:
    """A validator: one or more texts."""
    if not isinstance(value, list) or not value or not all(isinstance(turn, str) and turn.strip() for turn in value):
        raise ValidationError(_("This must be a list of one or more texts."))


def is_template(value: str) -> None:
    """A validator: only placeholders that are known."""
    if problem := template_problem(value):
        raise ValidationError(problem)


class QuestionSet(models.Model):
    """Questions that belong together, for example the eighty of MT-bench."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
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

    class Meta:
        ordering = ["question_set", "number"]
        constraints = [models.UniqueConstraint(fields=["question_set", "number"], name="question_once_a_set")]

    def __str__(self) -> str:
        return f"{self.number}: {self.turns[0][:60]}"


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
    output_format = models.CharField(max_length=32, choices=[(form, form) for form in READERS])
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


class Run(models.Model):
    """Models, questions and judges: what was asked for, and how far it is."""

    class Mode(models.TextChoices):
        SINGLE = "single", _("Each answer graded")
        BASELINE = "pairwise-baseline", _("Pairs with a baseline")
        ALL = "pairwise-all", _("All pairs")

    class Status(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")
        IMPORTED = "imported", _("Imported")

    BUSY = (Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.SlugField(max_length=100, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="evaluation_runs")
    question_set = models.ForeignKey(QuestionSet, on_delete=models.PROTECT, related_name="runs")
    mode = models.CharField(max_length=20, choices=Mode.choices, default=Mode.SINGLE)
    contenders = models.ManyToManyField(LanguageModel, related_name="+")
    judges = models.ManyToManyField(LanguageModel, related_name="+", blank=True)
    baseline = models.ForeignKey(LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    options = models.JSONField(default=dict, help_text=_("Limits, temperatures, repeats and prompts as asked for."))
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.QUEUED)
    error = models.TextField(blank=True)
    job_id = models.UUIDField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_busy(self) -> bool:
        return self.status in self.BUSY


class Answer(GeneratedText):
    """What a model said in one turn of a question. There is a row only once the model has ended."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="answers", db_index=False)
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    choice = models.PositiveSmallIntegerField(default=0)
    turn = models.PositiveSmallIntegerField()
    answer_id = models.CharField(max_length=64, blank=True, help_text=_("Its id in the file that it came from."))

    class Meta:
        ordering = ["run", "question", "model", "choice", "turn"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "question", "model", "choice", "turn"], name="answer_once_a_run_and_turn"
            )
        ]

    def __str__(self) -> str:
        return f"{self.model_id} to {self.question_id}, turn {self.turn}"


class Judgment(GeneratedText):
    """What a judge said of one answer, or of two in one order. `model_a` is FastChat's model or model_1; in game 2 it
    was shown second. `winner` is in terms of model_a and model_b, whatever the order."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="judgments", db_index=False)
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    judge = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+", db_index=False)
    model_a = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    model_b = models.ForeignKey(LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    choice = models.PositiveSmallIntegerField(default=0)
    turn = models.PositiveSmallIntegerField()
    repeat = models.PositiveSmallIntegerField(default=0)
    game = models.PositiveSmallIntegerField(default=1, help_text=_("2 where the sides are swapped."))
    prompt = models.ForeignKey(JudgePrompt, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    prompt_name = models.CharField(max_length=100)
    reference = models.ForeignKey(ReferenceAnswer, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    user_prompt = models.TextField(blank=True)
    state = models.CharField(max_length=16, choices=[(state.value, state.value) for state in State])
    score = models.FloatField(null=True, blank=True)
    winner = models.CharField(max_length=4, blank=True, choices=[(winner.value, winner.value) for winner in Winner])

    class Meta:
        ordering = ["run", "question", "turn", "model_a", "model_b", "judge", "repeat", "game"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "question", "judge", "model_a", "choice", "turn", "repeat"],
                condition=Q(model_b__isnull=True),
                name="single_judgment_once",
            ),
            models.UniqueConstraint(
                fields=["run", "question", "judge", "model_a", "model_b", "choice", "turn", "repeat", "game"],
                condition=Q(model_b__isnull=False),
                name="pair_judgment_once",
            ),
            models.CheckConstraint(
                condition=Q(model_b__isnull=True) | ~Q(model_a=F("model_b")), name="judgment_between_two_models"
            ),
            models.CheckConstraint(
                condition=(Q(state="ok") & (Q(score__isnull=False) | ~Q(winner="")))
                | (~Q(state="ok") & Q(score__isnull=True) & Q(winner="")),
                name="judgment_has_a_verdict_or_a_reason",
            ),
        ]
        indexes = [
            models.Index(fields=["run", "state"], name="judgment_states_of_run"),
            models.Index(fields=["judge", "messages_hash"], name="judgment_of_equal_request"),
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} on {self.model_a_id}, turn {self.turn}"
