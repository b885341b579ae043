"""What judges say of battles that people voted on."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from battles.models import Battle
from evaluations.verdicts import State, Winner
from providers.models import GeneratedText, LanguageModel


class BattleJudgment(GeneratedText):
    """What a judge said of two answers of a battle that a person voted on, in one order. The texts stay in the battle:
    nothing that a person wrote is kept here, and it goes with the battle."""

    battle = models.ForeignKey(Battle, on_delete=models.CASCADE, related_name="+")
    judge = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+", db_index=False)
    model_a = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    model_b = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    label_a = models.CharField(max_length=2)
    label_b = models.CharField(max_length=2)
    turns = models.PositiveSmallIntegerField(help_text=_("How many turns the person and the judge saw."))
    game = models.PositiveSmallIntegerField(help_text=_("2 where the sides are swapped."))
    prompt_name = models.CharField(max_length=100)
    state = models.CharField(max_length=16, choices=[(state.value, state.value) for state in State])
    winner = models.CharField(max_length=4, blank=True, choices=[(winner.value, winner.value) for winner in Winner])

    class Meta:
        ordering = ["battle", "label_a", "label_b", "judge", "game"]
        constraints = [
            models.UniqueConstraint(
                fields=["judge", "battle", "label_a", "label_b", "game"], name="battle_judged_once"
            ),
            models.CheckConstraint(
                condition=(Q(state="ok") & ~Q(winner="")) | (~Q(state="ok") & Q(winner="")),
                name="battle_judgment_has_a_winner_or_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} on {self.battle_id}, order {self.game}"


class BattleReport(models.Model):
    """How far judges agree with the people who voted on our battles, as it was when it was computed. There is one row
    at most."""

    report = models.JSONField()
    computed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.computed_at:%Y-%m-%d %H:%M}"
