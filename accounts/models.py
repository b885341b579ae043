"""Who asks: people, the keys of their programs, their long work, and the log of what was done."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.errors import AuditIsFinal


class User(AbstractUser):
    """A person who judges, or a program's own account."""

    shares_data = models.BooleanField(
        _("share my battles"),
        default=True,
        help_text=_("Your prompts and votes may be part of exported data, without your name."),
    )
    monthly_budget = models.DecimalField(
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("US dollars a calendar month for models with a price. Empty: the setting USER_MONTHLY_BUDGET."),
    )
    flagged_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("Since when this person's votes do not count.")
    )
    deletion_asked_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("Since when the account is closed and waits to be erased.")
    )
    flag_reason = models.CharField(max_length=200, blank=True, editable=False)


class Scope(models.TextChoices):
    """What a key may do. A logged-in browser may do all but admin, which needs staff."""

    READ = "read", _("Read")
    RUN = "run", _("Run models (spends tokens)")
    VOTE = "vote", _("Vote")
    EXPORT = "export", _("Export")
    ADMIN = "admin", _("Administer")


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self) -> "ApiKeyQuerySet":
        alive = models.Q(expires_at__isnull=True) | models.Q(expires_at__gt=timezone.now())
        return self.filter(alive, revoked_at__isnull=True, user__is_active=True)


class ApiKey(models.Model):
    """A program's key. Only the SHA-256 digest of its secret is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12, unique=True, help_text=_("The first characters, to recognise it by."))
    digest = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    requests_per_minute = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_("How many it may send. Empty: the setting API_REQUESTS_PER_MINUTE."),
    )

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = _("API key")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def limit_per_minute(self) -> int:
        """Requests that it may send in a minute."""
        return self.requests_per_minute or settings.API_REQUESTS_PER_MINUTE


class ApiKeyUse(models.Model):
    """How many requests a key sent on one day (UTC), refused ones included."""

    apikey = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="uses")
    day = models.DateField()
    requests = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-day"]
        constraints = [models.UniqueConstraint(fields=["apikey", "day"], name="apikey_use_once_a_day")]

    def __str__(self) -> str:
        return f"{self.day}: {self.requests} requests"


class IdempotentRequest(models.Model):
    """The first answer to a request that carried an Idempotency-Key, to be given again to its repetitions."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64, help_text=_("SHA-256 of method, path and body."))
    status = models.PositiveSmallIntegerField(null=True, help_text=_("Empty while the first request is under way."))
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_a_user")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.key}"


class Job(models.Model):
    """Long work that somebody asked for: an import, an export. It runs in a worker; this row says how far it is."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    OVER = (State.DONE, State.FAILED, State.CANCELLED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=40, help_text=_("For example battles_import."))
    parameters = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    done = models.PositiveBigIntegerField(default=0, help_text=_("Rows or steps behind it."))
    total = models.PositiveBigIntegerField(null=True, blank=True)
    result = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True, help_text=_("What went wrong, in words for its owner."))
    file = models.FileField(upload_to="jobs/%Y/%m/", blank=True, help_text=_("What it works on, or what it made."))
    is_cancel_asked = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)
    beat_at = models.DateTimeField(null=True, editable=False, help_text=_("When its worker last said that it lives."))
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}: {self.state}"

    @property
    def is_over(self) -> bool:
        return self.state in self.OVER

    @property
    def title(self) -> str:
        """What it is, for its owner: the parameter `title`, else its kind."""
        return str(self.parameters.get("title") or self.kind.replace("_", " ").capitalize())

    @property
    def summary(self) -> str:
        """What came of it, in the words of its work."""
        return str(self.result.get("summary", ""))

    @property
    def remaining_seconds(self) -> int | None:
        """Until its end at the rate so far; None while nobody can say."""
        if self.state != self.State.RUNNING or not (self.total and self.done and self.started_at):
            return None
        rate = self.done / max((timezone.now() - self.started_at).total_seconds(), 0.001)
        return round((self.total - self.done) / rate)


class AuditQuerySet(models.QuerySet["AuditEntry"]):
    """Refuses what the database would refuse, too: see `audit`."""

    def update(self, **kwargs: Any) -> int:
        raise AuditIsFinal

    def delete(self) -> tuple[int, dict[str, int]]:
        raise AuditIsFinal


class AuditEntry(models.Model):
    """One thing that somebody did which others may want to know of. Only ever added."""

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    action = models.CharField(max_length=60, help_text=_("For example comparisons_exclude."))
    subject = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AuditQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = _("audit log")

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AuditIsFinal
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise AuditIsFinal
