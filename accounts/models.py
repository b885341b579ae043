"""Who asks: people, and the keys of their programs."""

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class User(AbstractUser):
    """A person who judges, or a program's own account."""

    shares_data = models.BooleanField(
        _("share my battles"),
        default=True,
        help_text=_("Your prompts and votes may be part of exported data, without your name."),
    )


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

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = _("API key")

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


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
