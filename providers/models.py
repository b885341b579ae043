"""Who can answer: endpoints, the language models behind them, what they used, and answers that are kept. Engines, and
what every stored generation has in common, stand in files of their own."""

from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from providers.engines.models import Engine
from providers.engines.states import SLEEPY
from providers.generation_models import GeneratedText
from providers.validators import are_quirks, are_tags, holds_no_secret_of_ours, may_be_asked

__all__ = ["CachedAnswer", "Endpoint", "Engine", "GeneratedText", "LanguageModel", "LanguageModelQuerySet", "Usage"]


class Endpoint(models.Model):
    """A service that answers: one address, one wire, one key."""

    class Kind(models.TextChoices):
        OPENAI = "openai", _("OpenAI wire")
        ANTHROPIC = "anthropic", _("Anthropic wire")
        GEMINI = "gemini", _("Gemini wire")

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.OPENAI)
    base_url = models.URLField(
        max_length=500, validators=[may_be_asked], help_text=_("For example https://api.openai.com/v1")
    )
    api_key_variable = models.CharField(
        max_length=100,
        blank=True,
        validators=[holds_no_secret_of_ours],
        help_text=_("Name of the environment variable that holds the key; empty for none."),
    )
    encrypted_key = models.TextField(blank=True, editable=False, help_text=_("A pasted key, encrypted at rest."))
    quirks = models.JSONField(
        default=dict,
        blank=True,
        validators=[are_quirks],
        help_text=_("How this service differs from others on its wire; see the documentation of the catalogue."),
    )
    connect_timeout = models.FloatField(default=10, validators=[MinValueValidator(0.1)], help_text=_("Seconds."))
    first_token_timeout = models.FloatField(default=60, validators=[MinValueValidator(0.1)], help_text=_("Seconds."))
    idle_timeout = models.FloatField(default=30, validators=[MinValueValidator(0.1)], help_text=_("Seconds."))
    total_timeout = models.FloatField(default=600, validators=[MinValueValidator(1)], help_text=_("Seconds."))
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    tokens_per_minute = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    max_streams = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)], help_text=_("Answers at the same time.")
    )
    monthly_budget = models.DecimalField(
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("US dollars a calendar month; nothing more is asked once they are spent. Empty for no limit."),
    )
    spent_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("The budget of this month is spent.")
    )
    cache_seconds = models.PositiveIntegerField(
        default=0, help_text=_("How long an answer may serve an equal request of somebody else; 0 is never.")
    )
    needs_key = models.BooleanField(default=False, help_text=_("Its models are not offered until there is a key."))
    has_key = models.BooleanField(default=False, editable=False)
    is_enabled = models.BooleanField(default=True)
    has_outage = models.BooleanField(
        _("outage"), default=False, help_text=_("Its models are not drawn for now, but stay in the catalogue.")
    )
    is_reachable = models.BooleanField(default=True, editable=False)
    engine_state = models.CharField(
        max_length=12,
        blank=True,
        editable=False,
        help_text=_("Of our own engine behind it; empty where there is none."),
    )
    checked_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class LanguageModelQuerySet(models.QuerySet["LanguageModel"]):
    def active(self) -> "LanguageModelQuerySet":
        """Those that may be asked, whether or not they answer at this moment."""
        has_key = models.Q(endpoint__needs_key=False) | models.Q(endpoint__has_key=True)
        return self.filter(has_key, status=LanguageModel.Status.ACTIVE, endpoint__is_enabled=True)

    def available(self) -> "LanguageModelQuerySet":
        """Those that may be drawn: their endpoint answered when it was last looked at, has no outage and money left,
        and they do not rest after failures. One that sleeps is drawn where ENGINE_ASLEEP lets people wait for it."""
        now = timezone.now()
        is_rested = models.Q(resting_until__isnull=True) | models.Q(resting_until__lte=now)
        is_paid = models.Q(endpoint__spent_until__isnull=True) | models.Q(endpoint__spent_until__lte=now)
        found = self.active().filter(is_rested, is_paid, endpoint__is_reachable=True, endpoint__has_outage=False)
        return found if settings.ENGINE_ASLEEP == "wait" else found.exclude(endpoint__engine_state__in=SLEEPY)


class LanguageModel(models.Model):
    """A contender: an upstream model with its own system prompt and sampling."""

    class Status(models.TextChoices):
        ACTIVE = "active", _("Active")
        HIDDEN = "hidden", _("Hidden")
        RETIRED = "retired", _("Retired")
        EXTERNAL = "external", _("External")

    endpoint = models.ForeignKey(
        Endpoint,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="language_models",
        help_text=_("Empty only for a model that was imported with its votes, and is never asked."),
    )
    slug = models.SlugField(max_length=100, unique=True)
    name = models.CharField(max_length=100, unique=True)
    upstream_id = models.CharField(max_length=200, help_text=_("What the endpoint calls it."))
    organisation = models.CharField(max_length=100, blank=True)
    licence = models.CharField(max_length=100, blank=True)
    url = models.URLField(max_length=500, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    is_reasoning = models.BooleanField(default=False)
    sees_images = models.BooleanField(default=False, help_text=_("Takes pictures in prompts."))
    tags = models.JSONField(
        default=list,
        blank=True,
        validators=[are_tags],
        help_text=_('Words to choose models by, for example ["small", "open weights"].'),
    )
    size = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0)], help_text=_("Billions of parameters, all of them.")
    )
    context_window = models.PositiveIntegerField(null=True, blank=True, help_text=_("Tokens."))
    input_price = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("US dollars for a million tokens."),
    )
    output_price = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("US dollars for a million tokens."),
    )
    system_prompt = models.TextField(blank=True)
    temperature = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(5)])
    top_p = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(1)])
    max_tokens = models.PositiveIntegerField(null=True, blank=True)
    quirks = models.JSONField(
        default=dict,
        blank=True,
        validators=[are_quirks],
        help_text=_("How this model differs from the others of its endpoint; what is left out comes from there."),
    )
    sampling_weight = models.FloatField(
        default=1, validators=[MinValueValidator(0)], help_text=_("How often it is drawn; 0 is never.")
    )
    failures_in_row = models.PositiveIntegerField(default=0, editable=False)
    resting_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("After repeated failures it is not drawn until then.")
    )
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = LanguageModelQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(endpoint__isnull=False) | models.Q(status="external"),
                name="model_has_an_endpoint_or_is_external",
            )
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **fields: Any) -> None:
        """Notes the moment of retirement, and forgets it where the model comes back."""
        is_retired = self.status == self.Status.RETIRED
        if is_retired != (self.retired_at is not None):
            self.retired_at = timezone.now() if is_retired else None
            if fields.get("update_fields") is not None:
                fields["update_fields"] = {*fields["update_fields"], "retired_at"}
        super().save(*args, **fields)

    @property
    def is_active(self) -> bool:
        """Whether it is one of `objects.active()`."""
        endpoint = self.endpoint
        if self.status != self.Status.ACTIVE or endpoint is None or not endpoint.is_enabled:
            return False
        return endpoint.has_key or not endpoint.needs_key

    @property
    def is_available(self) -> bool:
        """Whether it is one of `objects.available()`."""
        return self.is_active and not self.away_because

    @property
    def away_because(self) -> str:
        """Why an active model is not drawn at this moment; empty where it is."""
        now, endpoint = timezone.now(), self.endpoint
        if endpoint is None:
            return str(_("It was imported, and cannot be asked."))
        is_left_asleep = settings.ENGINE_ASLEEP != "wait" and endpoint.engine_state in SLEEPY
        reasons = (
            (endpoint.has_outage, _("Its endpoint has an outage.")),
            (not endpoint.is_reachable, _("Its endpoint does not answer.")),
            (is_left_asleep, _("Its engine sleeps.")),
            (bool(endpoint.spent_until and endpoint.spent_until > now), _("The budget of its endpoint is spent.")),
            (bool(self.resting_until and self.resting_until > now), _("It rests after repeated failures.")),
        )
        return next((str(reason) for is_so, reason in reasons if is_so), "")


class Usage(models.Model):
    """What one person asked of one model on one day, added up. Budgets, the usage page and the CSV read from it."""

    day = models.DateField()
    model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, related_name="+", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="usage"
    )
    requests = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    cached = models.PositiveIntegerField(default=0, help_text=_("Answered from the store; these cost nothing."))
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0, help_text=_("US dollars."))

    class Meta:
        ordering = ["-day"]
        verbose_name_plural = _("usage")
        constraints = [models.UniqueConstraint(fields=["day", "model", "user"], name="usage_once_a_day_model_and_user")]

    def __str__(self) -> str:
        return f"{self.day}: {self.requests} requests"


class CachedAnswer(models.Model):
    """An answer that may serve an equal request again: same model, messages and sampling."""

    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, related_name="+")
    request_hash = models.CharField(max_length=64, help_text=_("SHA-256 of what was asked, where and how."))
    text = models.TextField()
    reasoning = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=16)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    first_token_ms = models.PositiveIntegerField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    served_to = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+", blank=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["model", "request_hash"], name="cached_answer_of_request")]

    def __str__(self) -> str:
        return f"{self.model_id}: {self.text[:40]}"
