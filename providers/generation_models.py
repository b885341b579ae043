"""What every stored generation has in common."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from providers.adapters.base import ErrorKind, FinishReason


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
    reasoning_tokens = models.PositiveIntegerField(null=True, blank=True, help_text=_("Part of the output tokens."))
    cost = models.DecimalField(max_digits=12, decimal_places=8, null=True, blank=True, help_text=_("US dollars."))
    messages_hash = models.CharField(max_length=64, blank=True, help_text=_("SHA-256 of the messages as sent."))
    sampling = models.JSONField(default=dict, blank=True, help_text=_("As sent, seed included."))
    adapter = models.CharField(max_length=20, blank=True)
    code_version = models.CharField(max_length=40, blank=True)
    upstream_model = models.CharField(max_length=200, blank=True, help_text=_("As the upstream reported it."))
    request_id = models.CharField(max_length=200, blank=True, help_text=_("The upstream's name of the request."))
    is_cached = models.BooleanField(default=False, help_text=_("Answered from the store, not by the model."))
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
