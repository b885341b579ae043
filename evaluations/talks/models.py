"""What judges say of conversations of two models."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from evaluations.verdicts import State, Winner
from providers.models import GeneratedText, LanguageModel


class TalkJudgment(GeneratedText):
    """What a judge said of a conversation of two models, or of two conversations in one order. `winner` is in terms of
    `conversation` (a) and `other` (b), whatever the order."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    judge = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.CASCADE, related_name="judgments")
    other = models.ForeignKey(
        "conversations.Conversation", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    side = models.CharField(max_length=1, blank=True, help_text=_("Of two: whose model differs; empty: both."))
    game = models.PositiveSmallIntegerField(default=1, help_text=_("2 where the other was shown first."))
    prompt_version = models.CharField(max_length=20)
    rubric = models.TextField(blank=True)
    rubric_digest = models.CharField(max_length=64, blank=True, help_text=_("SHA-256 of the rubric."))
    state = models.CharField(max_length=16, choices=[(state.value, state.value) for state in State])
    score_a = models.FloatField(null=True, blank=True)
    score_b = models.FloatField(null=True, blank=True)
    reason_a = models.TextField(blank=True)
    reason_b = models.TextField(blank=True)
    winner = models.CharField(max_length=4, blank=True, choices=[(winner.value, winner.value) for winner in Winner])

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["conversation", "judge", "prompt_version", "rubric_digest"],
                condition=Q(other__isnull=True),
                name="talk_scored_once",
            ),
            models.UniqueConstraint(
                fields=["conversation", "other", "judge", "prompt_version", "rubric_digest", "game"],
                condition=Q(other__isnull=False),
                name="talks_compared_once",
            ),
            models.CheckConstraint(condition=Q(other__isnull=True) | ~Q(conversation=F("other")), name="talks_are_two"),
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} on {self.conversation_id}"
