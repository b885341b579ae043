"""The table of engines: model servers that we run ourselves, or watch on other machines."""

import re
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.clock import has_lapsed
from providers.engines.states import State, Wanted
from providers.engines.vllm import LOOPBACK, Spec, reserved_in

UNSEEN_SECONDS = 30  # an engine that nobody has looked at for so long has no keeper
NOBODY = _("Nobody looks after it: start manage.py engines run.")
STATES = [(one.value, one.value.capitalize()) for one in State]
SAFE = re.compile(r"\A[^\s\0-][^\0]*\Z")  # no leading dash: it would be read as an argument


def are_arguments(value: Any) -> None:
    """Raises ValidationError for anything that is not a list of arguments which are the operator's to give."""
    if not isinstance(value, list) or not all(isinstance(one, str) and one and "\0" not in one for one in value):
        raise ValidationError(_('Write a list of texts, for example ["--max-num-seqs", "64"].'))
    if taken := reserved_in(value):
        raise ValidationError(_("%(name)s is set by Tourney itself."), params={"name": taken})


class EngineQuerySet(models.QuerySet["Engine"]):
    def ours(self) -> "EngineQuerySet":
        """Those that `manage.py engines run` starts; the others are only watched."""
        return self.filter(host=LOOPBACK)


class Engine(models.Model):
    """One vLLM server: how it is to run, what is wanted of it, and how it is. Its models stand at its endpoint."""

    class Quantization(models.TextChoices):
        NONE = "", _("As the model is stored")
        AWQ = "awq", _("AWQ, 4 bits")
        GPTQ = "gptq", _("GPTQ, 4 bits")
        BITSANDBYTES = "bitsandbytes", _("bitsandbytes, 4 bits, made while it loads")
        FP8 = "fp8", _("fp8, 8 bits")

    class Dtype(models.TextChoices):
        AUTO = "auto", _("As the model is stored")
        BFLOAT16 = "bfloat16", "bfloat16"
        FLOAT16 = "float16", "float16"
        FLOAT32 = "float32", "float32"

    class SleepLevel(models.IntegerChoices):
        STOP = 0, _("Stop the process: for platforms without sleep mode")
        HOST_MEMORY = 1, _("1: keep the weights in this machine's memory, wake in seconds")
        DISK = 2, _("2: forget the weights, read them from disk again")

    class Desired(models.TextChoices):
        AWAKE = Wanted.AWAKE.value, _("Awake")
        ASLEEP = Wanted.ASLEEP.value, _("Asleep, wakes when it is asked")
        STOPPED = Wanted.STOPPED.value, _("Stopped")

    slug = models.SlugField(unique=True, help_text=_("Also the name of its endpoint, and of the model in requests."))
    model = models.CharField(
        max_length=500, validators=[RegexValidator(SAFE)], help_text=_("A folder on the engine's machine, or a hub id.")
    )
    revision = models.CharField(
        max_length=100, blank=True, validators=[RegexValidator(SAFE)], help_text=_("Commit of the hub id.")
    )
    quantization = models.CharField(max_length=20, choices=Quantization.choices, blank=True, default="")
    dtype = models.CharField(max_length=10, choices=Dtype.choices, default=Dtype.AUTO)
    tensor_parallel = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1)], help_text=_("GPUs that the model is cut over.")
    )
    memory_share = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.01), MaxValueValidator(0.98)],
        help_text=_("Of a GPU's memory, from 0.01 to 0.98. Empty: vLLM's own, nearly all of it."),
    )
    context = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(128)], help_text=_("Tokens. Empty: the model's longest.")
    )
    gpus = models.CharField(
        max_length=50,
        blank=True,
        validators=[RegexValidator(r"\A\d+(,\d+)*\Z")],
        help_text=_("Numbers of the GPUs it may use, as 0 or 0,1. Empty: all."),
    )
    extra_arguments = models.JSONField(
        default=list,
        blank=True,
        validators=[are_arguments],
        help_text=_('More arguments for vLLM, one text each, as ["--max-num-seqs", "64"]. No shell reads them.'),
    )
    sleep_level = models.PositiveSmallIntegerField(choices=SleepLevel.choices, default=SleepLevel.HOST_MEMORY)
    host = models.CharField(
        max_length=255,
        default=LOOPBACK,
        validators=[RegexValidator(r"\A[A-Za-z0-9.:\[\]-]+\Z")],
        help_text=_("127.0.0.1 for an engine that we start. One on another machine is only watched."),
    )
    port = models.PositiveIntegerField(validators=[MinValueValidator(1024), MaxValueValidator(65535)])
    desired = models.CharField(max_length=10, choices=Desired.choices, default=Desired.AWAKE)
    endpoint = models.OneToOneField(
        "providers.Endpoint", null=True, editable=False, on_delete=models.SET_NULL, related_name="engine"
    )

    wanted_at = models.DateTimeField(default=timezone.now, editable=False)
    state = models.CharField(max_length=12, choices=STATES, default=State.STOPPED.value, editable=False)
    reason = models.TextField(blank=True, editable=False)
    state_since = models.DateTimeField(null=True, editable=False)
    started_at = models.DateTimeField(null=True, editable=False)
    seen_at = models.DateTimeField(null=True, editable=False)
    restarts = models.PositiveIntegerField(default=0, editable=False, help_text=_("In a row, after failures."))
    running = models.PositiveIntegerField(default=0, editable=False)
    waiting = models.PositiveIntegerField(default=0, editable=False)
    cache_used = models.FloatField(default=0, editable=False, help_text=_("From 0 to 1."))
    cache_tokens = models.PositiveBigIntegerField(null=True, editable=False, help_text=_("As vLLM reported it."))
    log_tail = models.TextField(blank=True, editable=False)

    objects = EngineQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]
        constraints = [models.UniqueConstraint(fields=["host", "port"], name="one_engine_at_an_address")]

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        self.host = LOOPBACK if self.host == "localhost" else self.host
        if self.gpus and self.tensor_parallel > self.gpus.count(",") + 1:
            raise ValidationError({"tensor_parallel": _("It may use fewer GPUs than it is to be cut over.")})

    @property
    def spec(self) -> Spec:
        """How it is started."""
        return Spec(
            slug=self.slug,
            model=self.model,
            served_as=self.slug,
            port=self.port,
            host=self.host,
            revision=self.revision,
            quantization=self.quantization,
            dtype=self.dtype,
            tensor_parallel=self.tensor_parallel,
            memory_share=self.memory_share,
            context=self.context,
            gpus=self.gpus,
            sleep_level=self.sleep_level,
            extra_arguments=tuple(self.extra_arguments),
        )

    @property
    def why(self) -> str:
        """Why it is as it is, in words; empty where there is nothing to say."""
        return self.reason if self.is_watched else str(NOBODY)

    @property
    def is_watched(self) -> bool:
        """Whether `manage.py engines run` looks after it."""
        unseen_since = timezone.now() - timedelta(seconds=UNSEEN_SECONDS)
        return self.seen_at is not None and not has_lapsed(self.seen_at, unseen_since)
