"""Who can answer: endpoints, the language models behind them, and what every stored generation has in common."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from providers.adapters.base import ErrorKind, FinishReason
from providers.validators import holds_no_secret_of_ours


class Endpoint(models.Model):
    """A service that answers: one address, one wire, one key."""

    class Kind(models.TextChoices):
        OPENAI = "openai", _("OpenAI wire")

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.OPENAI)
    base_url = models.URLField(max_length=500, help_text=_("For example https://api.openai.com/v1"))
    api_key_variable = models.CharField(
        max_length=100,
        blank=True,
        validators=[holds_no_secret_of_ours],
        help_text=_("Name of the environment variable that holds the key; empty for none."),
    )
    connect_timeout = models.FloatField(default=10, validators=[MinValueValidator(0.1)], help_text=_("Seconds."))
    first_token_timeout = models.FloatField(default=60, validators=[MinValueValidator(0.1)], help_text=_("Seconds."))
    idle_timeout = models.FloatField(default=30, validators=[MinValueValidator(0.1)], help_text=_("Seconds."))
    total_timeout = models.FloatField(default=600, validators=[MinValueValidator(1)], help_text=_("Seconds."))
    is_enabled = models.BooleanField(default=True)
    is_reachable = models.BooleanField(default=True, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class LanguageModelQuerySet(models.QuerySet["LanguageModel"]):
    def active(self) -> "LanguageModelQuerySet":
        """Those that may be asked, whether or not they answer at this moment."""
        return self.filter(status=LanguageModel.Status.ACTIVE, endpoint__is_enabled=True)

    def available(self) -> "LanguageModelQuerySet":
        """Those that may be asked and whose endpoint answered when it was last looked at."""
        return self.active().filter(endpoint__is_reachable=True)


class LanguageModel(models.Model):
    """A contender: an upstream model with its own system prompt and sampling."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        HIDDEN = "hidden", _("Hidden")
        RETIRED = "retired", _("Retired")

    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="language_models")
    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=100, unique=True)
    upstream_id = models.CharField(max_length=200, help_text=_("What the endpoint calls it."))
    organisation = models.CharField(max_length=100, blank=True)
    licence = models.CharField(max_length=100, blank=True)
    url = models.URLField(max_length=500, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    is_reasoning = models.BooleanField(default=False)
    context_window = models.PositiveIntegerField(null=True, blank=True, help_text=_("Tokens."))
    input_price = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text=_("US dollars for a million tokens.")
    )
    output_price = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text=_("US dollars for a million tokens.")
    )
    system_prompt = models.TextField(blank=True)
    temperature = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(5)])
    top_p = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(1)])
    max_tokens = models.PositiveIntegerField(null=True, blank=True)
    sampling_weight = models.FloatField(
        default=1, validators=[MinValueValidator(0)], help_text=_("How often it is drawn; 0 is never.")
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = LanguageModelQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class GeneratedText(models.Model):
    """What a model wrote, and how that went. Every table of stored generations shares these columns."""

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        STREAMING = "streaming", _("Streaming")
        FINISHED = "finished", _("Finished")
        FAILED = "failed", _("Failed")
        STOPPED = "stopped", _("Stopped")
        INTERRUPTED = "interrupted", _("Interrupted")

    LIVE = (Status.WAITING, Status.STREAMING)

    text = models.TextField(blank=True)
    reasoning = models.TextField(blank=True)
    status = models.CharField(max_length=12, choices=Status.choices, default=Status.WAITING)
    finish_reason = models.CharField(max_length=16, blank=True, choices=[(r.value, r.value) for r in FinishReason])
    error_kind = models.CharField(max_length=16, blank=True, choices=[(k.value, k.value) for k in ErrorKind])
    error_message = models.TextField(blank=True, help_text=_("The upstream's own words; for the operator only."))
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(max_digits=12, decimal_places=8, null=True, blank=True, help_text=_("US dollars."))
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_live(self) -> bool:
        return self.status in self.LIVE

    @property
    def is_answer(self) -> bool:
        """Whether there is a text that a person can judge."""
        return self.status in (self.Status.FINISHED, self.Status.STOPPED) and bool(self.text.strip())
