"""People judge models: battles, their sides and turns, the responses and the preference. Prompts stand in a file of
their own."""

import uuid
from math import inf

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from battles.prompt_models import Category, ImportedPreference, LabelSource, Prompt, PromptSet
from leaderboard.exclusions import Exclusion
from providers.models import GeneratedText, LanguageModel
from providers.validators import are_tags

__all__ = [
    "Battle", "Category", "Image", "ImportedPreference", "LabelSource", "Pool", "Preference", "Prompt", "PromptSet",
    "Reaction", "Redraw", "Response", "Side", "Turn", "Voter",
]  # fmt: skip


class Pool(models.Model):
    """Models that a blind battle may be confined to: all that fit every line that is not empty."""

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=300, blank=True)
    size_min = models.FloatField(null=True, blank=True, help_text=_("Billions of parameters; this many or more."))
    size_max = models.FloatField(null=True, blank=True, help_text=_("Billions of parameters; less than this many."))
    licences = models.JSONField(
        default=list, blank=True, validators=[are_tags], help_text=_('Any of these, for example ["Apache 2.0", "MIT"].')
    )
    tags = models.JSONField(
        default=list, blank=True, validators=[are_tags], help_text=_('Any of these, for example ["coding"].')
    )
    position = models.PositiveIntegerField(default=100, help_text=_("Place in the list, lowest first."))

    class Meta:
        ordering = ["position", "name"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.size_min is not None and self.size_max is not None and self.size_min >= self.size_max:
            raise ValidationError({"size_max": _("This must be more than the smallest size.")})

    def holds(self, model: LanguageModel) -> bool:
        """Whether the model fits. One whose size is not known is in no pool by size."""
        if self.size_min is not None or self.size_max is not None:
            low, high = self.size_min or 0.0, inf if self.size_max is None else self.size_max
            if model.size is None or not low <= model.size < high:
                return False
        has_licence = not self.licences or model.licence in self.licences
        return has_licence and (not self.tags or not set(self.tags).isdisjoint(model.tags))

    def members(self) -> list[LanguageModel]:
        """The active models in it, with their endpoints."""
        return [model for model in LanguageModel.objects.active().select_related("endpoint") if self.holds(model)]


class BattleQuerySet(models.QuerySet["Battle"]):
    def kept(self) -> "BattleQuerySet":
        """Those that their owner has not deleted."""
        return self.filter(deleted_at__isnull=True)

    def shared(self) -> "BattleQuerySet":
        """Those that anybody with their link may read, up to `shared_turns`."""
        kept = self.kept().filter(owner__deletion_asked_at__isnull=True)
        return kept.filter(share_token__isnull=False, revealed_at__isnull=False)


class Battle(models.Model):
    """One person's prompts to two or more models, and their answers side by side."""

    class Mode(models.TextChoices):
        BLIND = "blind", _("Blind")
        NAMED = "named", _("Named")
        LINEUP = "lineup", _("Line-up")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="battles")
    mode = models.CharField(max_length=8, choices=Mode.choices, default=Mode.BLIND)
    is_blind = models.BooleanField(default=True, help_text=_("Whether the models are hidden until the vote."))
    category = models.CharField(max_length=16, choices=Category.choices, default=Category.GENERAL)
    category_source = models.CharField(
        max_length=8, choices=LabelSource.choices, blank=True, help_text=_("Empty: nobody has looked yet.")
    )
    language = models.CharField(max_length=16, blank=True, help_text=_("Of the first prompt, for example en."))
    language_source = models.CharField(max_length=8, choices=LabelSource.choices, blank=True)
    system_prompt = models.TextField(blank=True)
    pool = models.JSONField(default=list, blank=True, help_text=_("Slugs that were drawn from; empty for all."))
    pool_slug = models.SlugField(blank=True, help_text=_("The named pool that was drawn from."))
    propensity = models.FloatField(
        null=True,
        blank=True,
        editable=False,
        help_text=_(
            "The chance with which just these models were drawn; empty where it is not known, as after a redraw."
        ),
    )
    share_token = models.CharField(max_length=32, unique=True, null=True, blank=True, editable=False)
    shared_turns = models.PositiveIntegerField(default=0, editable=False, help_text=_("How many the link shows."))
    created_at = models.DateTimeField(auto_now_add=True)
    revealed_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = BattleQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="battle_history"),
            models.Index(fields=["created_at"], name="battle_times"),
        ]

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


class Redraw(models.Model):
    """A model that left a side before it had said a word, because it failed, and was replaced by another."""

    side = models.ForeignKey(Side, on_delete=models.CASCADE, related_name="redraws")
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    error_kind = models.CharField(max_length=16)
    error_message = models.TextField(blank=True, help_text=_("The upstream's own words; for the operator only."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.side_id}: {self.model_id} ({self.error_kind})"


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


class Image(models.Model):
    """A picture that goes with a turn: resized, and without metadata. Without a turn it was uploaded, but not sent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    turn = models.ForeignKey(Turn, null=True, blank=True, on_delete=models.CASCADE, related_name="images")
    file = models.FileField(upload_to="images/%Y/%m/")
    media_type = models.CharField(max_length=32)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    position = models.PositiveSmallIntegerField(default=0, help_text=_("In its turn, from 0."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["position", "created_at"]
        indexes = [models.Index(fields=["owner", "created_at"], name="image_unsent", condition=models.Q(turn=None))]

    def __str__(self) -> str:
        return f"{self.width} x {self.height}"


class Response(GeneratedText):
    """One side's answer to one turn. Regenerating adds an attempt; the last one stands, the earlier are kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="responses")
    side = models.ForeignKey(Side, on_delete=models.CASCADE, related_name="responses")
    model = models.ForeignKey(
        LanguageModel,
        on_delete=models.PROTECT,
        related_name="+",
        help_text=_("Who was asked: a side whose first model failed may have been drawn again."),
    )
    attempt = models.PositiveIntegerField(default=1)
    is_current = models.BooleanField(default=True)
    is_refusal = models.BooleanField(default=False, help_text=_("By the rules of common/refusals.py, once it ended."))

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
    """What a person said about a battle: the best side, a ranking of several, a tie, or both bad. What follows from
    it for each pair is in the leaderboard's comparisons, and can be made anew from here."""

    class Choice(models.TextChoices):
        WINNER = "winner", _("One is better")
        RANKING = "ranking", _("Ranked")
        TIE = "tie", _("Tie")
        BOTH_BAD = "both_bad", _("Both bad")

    battle = models.ForeignKey(Battle, on_delete=models.CASCADE, related_name="preferences")
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preferences")
    choice = models.CharField(max_length=8, choices=Choice.choices)
    winner = models.ForeignKey(Side, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    ranking = models.JSONField(
        default=list, blank=True, help_text=_('Labels by rank, best first: [["b"], ["a", "c"]] has a and c equal.')
    )
    turns = models.PositiveIntegerField(help_text=_("How many turns were judged."))
    decided_ms = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("Milliseconds from the last answer's end to the vote.")
    )
    exclusion = models.CharField(
        max_length=32,
        blank=True,
        choices=Exclusion.choices,
        help_text=_("Why it does not count; empty if it does. The voter is not told."),
    )
    is_reviewed = models.BooleanField(
        default=False, help_text=_("An administrator has decided whether it counts; no rule changes that.")
    )
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    reasons = models.JSONField(default=list, blank=True)
    comment = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["voter", "created_at"], name="preference_pace")]
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


class Voter(User):
    """A person, as the admin's list of voters shows them."""

    class Meta:
        proxy = True
        ordering = ["username"]
        verbose_name = _("voter")
