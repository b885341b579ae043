"""People judge models: prompts, battles, their sides and turns, the responses and the preference."""

import uuid

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from providers.models import GeneratedText, LanguageModel


class Category(models.TextChoices):
    """What a prompt is about: the eight of MT-bench, and the rest."""

    GENERAL = "general", _("General")
    WRITING = "writing", _("Writing")
    ROLEPLAY = "roleplay", _("Roleplay")
    REASONING = "reasoning", _("Reasoning")
    MATH = "math", _("Maths")
    CODING = "coding", _("Coding")
    EXTRACTION = "extraction", _("Extraction")
    STEM = "stem", _("Science")
    HUMANITIES = "humanities", _("Humanities")


class PromptSet(models.Model):
    """A named collection of prompts, for suggestions and for runs."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    is_suggested = models.BooleanField(default=False, help_text=_("Offered to people who start a battle."))

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Prompt(models.Model):
    """One prompt of a set."""

    prompt_set = models.ForeignKey(PromptSet, on_delete=models.CASCADE, related_name="prompts")
    title = models.CharField(max_length=60, blank=True, help_text=_("A few words, for the suggestion."))
    text = models.TextField()
    category = models.CharField(max_length=16, choices=Category.choices, default=Category.GENERAL)
    language = models.CharField(max_length=16, default="en")

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.title or self.text[:60]


class BattleQuerySet(models.QuerySet["Battle"]):
    def kept(self) -> "BattleQuerySet":
        """Those that their owner has not deleted."""
        return self.filter(deleted_at__isnull=True)


class Battle(models.Model):
    """One person's prompts to two or more models, and their answers side by side."""

    class Mode(models.TextChoices):
        BLIND = "blind", _("Blind")
        NAMED = "named", _("Named")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="battles")
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.BLIND)
    category = models.CharField(max_length=16, choices=Category.choices, default=Category.GENERAL)
    system_prompt = models.TextField(blank=True)
    share_token = models.CharField(max_length=32, unique=True, null=True, blank=True, editable=False)
    shared_turns = models.PositiveIntegerField(default=0, editable=False, help_text=_("How many the link shows."))
    created_at = models.DateTimeField(auto_now_add=True)
    revealed_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = BattleQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["owner", "-created_at"], name="battle_history")]

    def __str__(self) -> str:
        return str(self.id)


class Side(models.Model):
    """One contender of a battle: a model behind a label. Labels are given at random, so the label is the position."""

    battle = models.ForeignKey(Battle, on_delete=models.CASCADE, related_name="sides")
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    label = models.CharField(max_length=2)

    class Meta:
        ordering = ["label"]
        constraints = [
            models.UniqueConstraint(fields=["battle", "label"], name="side_label_once_a_battle"),
            models.UniqueConstraint(fields=["battle", "model"], name="side_model_once_a_battle"),
        ]

    def __str__(self) -> str:
        return f"{self.battle_id} {self.label}"


class Turn(models.Model):
    """One message of the person, which every side answers."""

    battle = models.ForeignKey(Battle, on_delete=models.CASCADE, related_name="turns")
    number = models.PositiveIntegerField()
    prompt = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["battle", "number"], name="turn_number_once_a_battle")]

    def __str__(self) -> str:
        return f"{self.battle_id} turn {self.number}"


class Response(GeneratedText):
    """One side's answer to one turn. Regenerating adds an attempt; the last one stands, the earlier are kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="responses")
    side = models.ForeignKey(Side, on_delete=models.CASCADE, related_name="responses")
    attempt = models.PositiveIntegerField(default=1)
    is_current = models.BooleanField(default=True)

    class Meta:
        ordering = ["turn__number", "side__label", "attempt"]
        constraints = [
            models.UniqueConstraint(fields=["turn", "side", "attempt"], name="response_attempt_once"),
            models.UniqueConstraint(
                fields=["turn", "side"], condition=models.Q(is_current=True), name="response_current_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.turn_id} {self.side_id} attempt {self.attempt}"


class Preference(models.Model):
    """What a person said about a battle: the better side, a tie, or both bad."""

    class Choice(models.TextChoices):
        WINNER = "winner", _("One is better")
        TIE = "tie", _("Tie")
        BOTH_BAD = "both_bad", _("Both bad")

    battle = models.ForeignKey(Battle, on_delete=models.CASCADE, related_name="preferences")
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preferences")
    choice = models.CharField(max_length=8, choices=Choice.choices)
    winner = models.ForeignKey(Side, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    turns = models.PositiveIntegerField(help_text=_("How many turns were judged."))
    reasons = models.JSONField(default=list, blank=True)
    comment = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["battle", "voter"], name="preference_once_a_voter_and_battle"),
            models.CheckConstraint(
                condition=models.Q(choice="winner", winner__isnull=False)
                | (~models.Q(choice="winner") & models.Q(winner__isnull=True)),
                name="preference_winner_fits_choice",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.battle_id}: {self.choice}"


class Reaction(models.Model):
    """A like or a dislike of one response."""

    class Value(models.TextChoices):
        LIKE = "like", _("Like")
        DISLIKE = "dislike", _("Dislike")

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="reactions")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    value = models.CharField(max_length=8, choices=Value.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["response", "user"], name="reaction_once_a_response_and_user")]

    def __str__(self) -> str:
        return f"{self.response_id}: {self.value}"
