"""What an administrator should look at now, in sentences, each with where to look; the worst first."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _g
from django.utils.translation import ngettext

# From here on something is wrong rather than busy.
BACKLOG_MUCH = 50
FAILED_MUCH_PERCENT = 10.0
FAILED_OF_AT_LEAST = 20
DISK_LITTLE_PERCENT = 10.0


class Endpoint(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def problem(self) -> str: ...
    @property
    def resting(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Attention:
    words: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Disk:
    """Of the data folder, in bytes."""

    free: int
    total: int

    @property
    def free_percent(self) -> float:
        return 100 * self.free / self.total if self.total else 0.0


def disk_now() -> Disk:
    usage = shutil.disk_usage(settings.VAR)
    return Disk(usage.free, usage.total)


def attention_now(
    *,
    endpoints: Sequence[Endpoint],
    answers: int,
    failed_percent: float,
    jobs_failed: int,
    backlog: int | None,
    disk: Disk,
) -> list[Attention]:
    found = []
    if disk.free_percent < DISK_LITTLE_PERCENT:
        found.append(Attention(_g("The disk of the data folder has %(n).0f %% left.") % {"n": disk.free_percent}))
    if backlog is not None and backlog > BACKLOG_MUCH:
        found.append(Attention(_g("%(n)d background tasks wait. Is a worker there?") % {"n": backlog}))
    listed = reverse("admin:providers_endpoint_changelist")
    found += [Attention(f"{each.name}: {each.problem}.", listed) for each in endpoints if each.problem]
    if answers >= FAILED_OF_AT_LEAST and failed_percent > FAILED_MUCH_PERCENT:
        found.append(Attention(_g("%(n).0f of 100 answers failed in this time.") % {"n": failed_percent}, "#failures"))
    models = reverse("admin:providers_languagemodel_changelist")
    for each in endpoints:
        if each.resting:
            words = ngettext(
                "%(n)d model of %(endpoint)s rests after failures.",
                "%(n)d models of %(endpoint)s rest after failures.",
                each.resting,
            )
            found.append(Attention(words % {"n": each.resting, "endpoint": each.name}, models))
    if jobs_failed:
        words = ngettext("%(n)d job failed in this time.", "%(n)d jobs failed in this time.", jobs_failed)
        found.append(Attention(words % {"n": jobs_failed}))
    return found
