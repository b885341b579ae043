"""Models talk to models: scenarios, conversations of two agents, their turns, and what a model read in them."""

import uuid

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Job
from conversations.sampling import SAMPLED, sampling_of
from providers.adapters.base import Sampling
from providers.models import GeneratedText, LanguageModel


class Side(models.TextChoices):
    """Which of the two agents."""

    A = "a", _("Agent A")
    B = "b", _("Agent B")

    @property
    def other(self) -> "Side":
        return Side.B if self is Side.A else Side.A


class Scenario(models.Model):
    """One version of a situation for two agents. An edit adds a version; what was played keeps the one it had."""

    slug = models.SlugField(max_length=60)
    version = models.PositiveIntegerField(default=1)
    is_current = models.BooleanField(default=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="scenarios",
        help_text=_("Empty for those of the library, which everybody sees."),
    )
    name = models.CharField(max_length=100)
    category = models.CharField(max_length=60, blank=True, help_text=_("For example negotiation."))
    description = models.TextField(blank=True)
    name_a = models.CharField(max_length=60, blank=True)
    name_b = models.CharField(max_length=60, blank=True)
    system_a = models.TextField(blank=True)
    system_b = models.TextField(blank=True)
    opening = models.TextField(help_text=_("What the agent who begins is told first."))
    first_side = models.CharField(max_length=1, choices=Side.choices, default=Side.A)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["slug", "version"], name="scenario_version_once"),
            models.UniqueConstraint(fields=["slug"], condition=models.Q(is_current=True), name="scenario_current_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


class ConversationQuerySet(models.QuerySet["Conversation"]):
    def kept(self) -> "ConversationQuerySet":
        """Those that their owner has not deleted."""
        return self.filter(deleted_at__isnull=True)


class Experiment(models.Model):
    """Many conversations by a plan: every pair in every scenario and variation, several times."""

    class Sharing(models.TextChoices):
        """What others have of it: two of its conversations side by side, without names until they vote."""

        NOBODY = "nobody", _("Only you compare its conversations")
        DIALOGUES = "dialogues", _("Everybody here compares them, without your scenarios' names and openings")
        PROMPTS = "prompts", _("Everybody here compares them, with how they began")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="experiments")
    name = models.CharField(max_length=100)
    grid = models.JSONField(help_text=_("The whole configuration, as it was given."))
    scenario_versions = models.JSONField(help_text=_("Which version of each scenario is played, by its slug."))
    turns_planned = models.PositiveIntegerField(default=0)
    held_by = models.CharField(
        max_length=200, blank=True, help_text=_("The process that plays it: host, number, token.")
    )
    held_until = models.DateTimeField(null=True, blank=True, help_text=_("That process must say so again before."))
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    sharing = models.CharField(max_length=10, choices=Sharing.choices, default=Sharing.NOBODY)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name


class Conversation(models.Model):
    """Two agents who speak in turn, each with the history from its own side."""

    class State(models.TextChoices):
        READY = "ready", _("Not begun")
        RUNNING = "running", _("Under way")
        PAUSED = "paused", _("Paused")
        ENDED = "ended", _("Ended")

    class Reason(models.TextChoices):
        """Why it stands still. The first five may go on at once."""

        ASKED = "asked", _("Paused by you.")
        FAILED = "failed", _("The last turn failed. Try it again, or go on, which tries it again, too.")
        INTERRUPTED = "interrupted", _("The server was restarted in the middle of a turn. Go on to have it again.")
        REFUSED = "refused", _("The next turn could not be asked for.")
        BRANCHED = "branched", _("Branched off here.")
        MAX_TURNS = "max_turns", _("All turns were taken.")
        STOP_PHRASE = "stop_phrase", _("The stop phrase was said.")
        GOODBYE = "goodbye", _("Both agents said goodbye.")
        REPETITION = "repetition", _("An agent repeated itself or the other nearly word for word.")
        TOKEN_BUDGET = "token_budget", _("The token budget was used up.")
        COST_BUDGET = "cost_budget", _("The cost budget was used up.")
        STOPPED = "stopped", _("Stopped by you.")
        IMPORTED = "imported", _("Imported from a file.")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    scenario = models.ForeignKey(
        Scenario, null=True, blank=True, on_delete=models.SET_NULL, related_name="conversations"
    )
    category = models.CharField(max_length=60, default="tourney")
    seed_prompt = models.TextField(blank=True, help_text=_("What the agent who begins is told first."))
    first_side = models.CharField(max_length=1, choices=Side.choices, default=Side.A)
    max_turns = models.PositiveIntegerField(default=10, validators=[MinValueValidator(1)])
    seed = models.PositiveBigIntegerField(null=True, blank=True, help_text=_("Sent with every request."))
    stop_phrase = models.CharField(max_length=200, blank=True)
    stops_on_goodbye = models.BooleanField(default=False)
    stops_on_repetition = models.BooleanField(default=False)
    token_budget = models.PositiveIntegerField(null=True, blank=True, help_text=_("Tokens in and out, together."))
    cost_budget = models.DecimalField(
        max_digits=10, decimal_places=4, null=True, blank=True, help_text=_("US dollars.")
    )
    state = models.CharField(max_length=8, choices=State.choices, default=State.READY)
    reason = models.CharField(max_length=16, choices=Reason.choices, blank=True)
    note = models.TextField(blank=True, help_text=_("More about the reason, in words for the owner."))
    is_pause_asked = models.BooleanField(default=False)
    experiment = models.ForeignKey(
        Experiment, null=True, blank=True, on_delete=models.CASCADE, related_name="conversations"
    )
    cell = models.PositiveIntegerField(null=True, blank=True, help_text=_("Its place in the experiment's plan."))
    iteration = models.PositiveIntegerField(null=True, blank=True)
    branched_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="branches")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True, help_text=_("When its runner last took a step."))
    watched_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When a window last looked on while a worker played it.")
    )
    named_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When its owner first read it with the names of its models.")
    )
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = ConversationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="conversation_history"),
            models.Index(fields=["moved_at"], name="conversation_running", condition=models.Q(state="running")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["experiment", "cell"], name="conversation_cell_once"),
            models.CheckConstraint(condition=models.Q(max_turns__gte=1), name="conversation_has_turns"),
        ]

    def __str__(self) -> str:
        return str(self.id)

    @property
    def is_running(self) -> bool:
        return self.state == self.State.RUNNING


class Agent(models.Model):
    """One of the two who speak: a model with a part to play."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="agents")
    side = models.CharField(max_length=1, choices=Side.choices)
    model = models.ForeignKey(LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    model_slug = models.CharField(max_length=200, help_text=_("Kept, because an imported model may not be ours."))
    name = models.CharField(max_length=60, blank=True)
    persona = models.TextField(blank=True)
    system_prompt = models.TextField(blank=True)
    temperature = models.FloatField(null=True, blank=True)
    top_p = models.FloatField(null=True, blank=True)
    max_tokens = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["side"]
        constraints = [models.UniqueConstraint(fields=["conversation", "side"], name="agent_once_a_side")]

    def __str__(self) -> str:
        return f"{self.conversation_id} {self.side}"

    @property
    def shown_name(self) -> str:
        """Its own name, else that of its model."""
        return self.name or (self.model.name if self.model else self.model_slug)

    @property
    def sampling(self) -> Sampling:
        """What was chosen for it; the rest is its model's."""
        return sampling_of({name: getattr(self, name) for name in SAMPLED})


class Turn(GeneratedText):
    """What an agent said, or a line of the moderator. Trying again adds an attempt; the last one stands."""

    class Speaker(models.TextChoices):
        A = "a", _("Agent A")
        B = "b", _("Agent B")
        MODERATOR = "m", _("Moderator")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="turns")
    position = models.PositiveIntegerField(help_text=_("Among all that was said, the moderator's lines included."))
    number = models.PositiveIntegerField(null=True, blank=True, help_text=_("Among the agents' turns, from 1."))
    speaker = models.CharField(max_length=1, choices=Speaker.choices)
    model = models.ForeignKey(LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    attempt = models.PositiveIntegerField(default=1)
    is_current = models.BooleanField(default=True)
    is_refusal = models.BooleanField(default=False)

    class Meta:
        ordering = ["position", "attempt"]
        indexes = [models.Index(fields=["finished_at"], name="turn_finished_at")]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "position", "attempt"], name="turn_attempt_once"),
            models.UniqueConstraint(
                fields=["conversation", "position"], condition=models.Q(is_current=True), name="turn_current_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.conversation_id} {self.position} {self.speaker}"


class Analysis(GeneratedText):
    """What a model read in a conversation. Its text is what the model wrote; `result` is what was understood of it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="analyses")
    model = models.ForeignKey(LanguageModel, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    model_slug = models.CharField(max_length=200, help_text=_("Kept, because an imported model may not be ours."))
    prompt_version = models.CharField(max_length=20)
    rubric = models.TextField(blank=True)
    turns = models.PositiveIntegerField(help_text=_("How many turns were read."))
    result = models.JSONField(null=True, blank=True)
    problem = models.TextField(blank=True, help_text=_("Why the text could not be understood."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at"]
        verbose_name_plural = _("analyses")

    def __str__(self) -> str:
        return f"{self.conversation_id}: {self.model_id}"


class ConversationPair(models.Model):
    """Two finished conversations that differ in one model, shown to a person side by side without names, and what they
    said of them. Whether it counts is said by the comparison that came of it."""

    class Choice(models.TextChoices):
        A = "a", _("A is better")
        B = "b", _("B is better")
        TIE = "tie", _("Tie")
        BOTH_BAD = "both_bad", _("Both bad")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    voter = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversation_pairs")
    conversation_a = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    conversation_b = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=65, help_text=_("Both ids in order: the same whichever is shown as A."))
    model_a = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    model_b = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+")
    side = models.CharField(
        max_length=1, choices=Side.choices, blank=True, help_text=_("Whose model differs; empty: that of both agents.")
    )
    is_blind = models.BooleanField(default=True, help_text=_("The voter had read neither with names."))
    choice = models.CharField(max_length=8, choices=Choice.choices, blank=True)
    reasons = models.JSONField(default=list, blank=True)
    comment = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["voter", "key"], name="conversation_pair_once_a_voter"),
            models.UniqueConstraint(
                fields=["voter"], condition=models.Q(decided_at=None), name="conversation_pair_open_once"
            ),
            models.CheckConstraint(
                condition=~models.Q(model_a=models.F("model_b")), name="conversation_pair_of_two_models"
            ),
            models.CheckConstraint(
                condition=models.Q(decided_at=None, choice="") | (~models.Q(decided_at=None) & ~models.Q(choice="")),
                name="conversation_pair_choice_fits",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.choice}"
