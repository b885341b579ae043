"""Times that another process has noted by the wall clock, which may have been set since. What is measured within one
process goes by a clock that nobody sets."""

from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

# What is noted lies in the past, or less than this ahead, unless the clock has been set back; hosts differ by less.
AHEAD = timedelta(minutes=2)


def has_lapsed(noted: datetime | None, before: datetime) -> bool:
    """Whether it lies before that moment, or was noted by a clock that has been set back since."""
    return noted is not None and (noted <= before or noted > timezone.now() + AHEAD)


def lapsed(field: str, before: datetime) -> Q:
    """The rows whose `field` has lapsed."""
    return Q(**{f"{field}__lte": before}) | Q(**{f"{field}__gt": timezone.now() + AHEAD})
