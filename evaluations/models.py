"""Runs: models that answer questions, their answers, and what judges say of them. What else evaluations keep stands in
files of its own: questions, battles, conversations, and what is read."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from evaluations.battles.models import BattleJudgment, BattleReport
from evaluations.questions.models import (
    JudgePrompt,
    Question,
    QuestionSet,
    ReferenceAnswer,
    are_scorers,
    are_turns,
    is_template,
)
from evaluations.reading.models import PersonVote, RunPair, Summary, VoteSet
from evaluations.talks.models import TalkJudgment
from evaluations.verdicts import State, Winner
from providers.models import GeneratedText, LanguageModel

__all__ = [
    "Answer", "BattleJudgment", "BattleReport", "JudgePrompt", "Judgment", "PersonVote", "Question", "QuestionSet",
    "ReferenceAnswer", "Run", "RunPair", "Summary", "TalkJudgment", "VoteSet", "are_scorers", "are_turns",
    "is_template",
]  # fmt: skip


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
    memory = models.JSONField(
        default=dict,
        editable=False,
        help_text=_("Peak memory of local servers in bytes, by endpoint."),
    )
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
    is_refusal = models.BooleanField(default=False, help_text=_("By the rules of common/refusals.py."))
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
    """What a judge said of one answer, or of two in one order; without a judge, what a match scorer found in one.
    `model_a` is FastChat's model or model_1; in game 2 it was shown second. `winner` is in terms of model_a and
    model_b, whatever the order. `score` is from 1 to 10, whatever the scale of a rubric; a match is 10, and none is 1.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="judgments", db_index=False)
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="+")
    judge = models.ForeignKey(
        LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    scorer = models.PositiveSmallIntegerField(default=0, help_text=_("Its place among the question's scorers."))
    model_a = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    model_b = models.ForeignKey(LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    choice = models.PositiveSmallIntegerField(default=0)
    turn = models.PositiveSmallIntegerField()
    repeat = models.PositiveSmallIntegerField(default=0)
    game = models.PositiveSmallIntegerField(default=1, help_text=_("2 where the sides are swapped."))
    prompt = models.ForeignKey(JudgePrompt, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    prompt_name = models.CharField(max_length=100)
    reference = models.ForeignKey(ReferenceAnswer, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    reference_version = models.PositiveIntegerField(
        default=0, help_text=_("The version of the reference that it went by; 0 for none.")
    )
    user_prompt = models.TextField(blank=True)
    details = models.JSONField(
        default=dict, blank=True, help_text=_("Of scorers: how they were set, and a rubric's ratings by criterion.")
    )
    state = models.CharField(max_length=16, choices=[(state.value, state.value) for state in State])
    score = models.FloatField(null=True, blank=True)
    winner = models.CharField(max_length=4, blank=True, choices=[(winner.value, winner.value) for winner in Winner])

    class Meta:
        ordering = ["run", "question", "turn", "model_a", "model_b", "judge", "repeat", "game"]
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "run",
                    "question",
                    "judge",
                    "scorer",
                    "model_a",
                    "choice",
                    "turn",
                    "repeat",
                    "reference_version",
                ],
                condition=Q(model_b__isnull=True),
                name="single_judgment_once",
            ),
            models.UniqueConstraint(
                fields=["run", "question", "scorer", "model_a", "choice", "turn"],
                condition=Q(judge__isnull=True),
                name="match_once",
            ),
            models.UniqueConstraint(
                fields=[
                    "run",
                    "question",
                    "judge",
                    "scorer",
                    "model_a",
                    "model_b",
                    "choice",
                    "turn",
                    "repeat",
                    "game",
                    "reference_version",
                ],
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
            models.CheckConstraint(
                condition=Q(judge__isnull=False) | Q(model_b__isnull=True), name="match_is_of_one_answer"
            ),
        ]
        indexes = [
            models.Index(fields=["run", "state"], name="judgment_states_of_run"),
            models.Index(fields=["judge", "messages_hash"], name="judgment_of_equal_request"),
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} on {self.model_a_id}, turn {self.turn}"

    @property
    def by(self) -> str:
        """Who or what gave the verdict: a judge's name, or the kind of a match scorer."""
        return self.prompt_name if self.judge is None else self.judge.name
