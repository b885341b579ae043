"""Asks for a review of the votes. Apart from `anomalies`, which loads the statistics, and is for workers."""

import logging
from contextlib import suppress

from django.conf import settings
from django.core.cache import cache
from django.utils import timezone

log = logging.getLogger(__name__)

REQUESTED = "leaderboard:review_requested"


def review_request() -> None:
    """Have a review made soon; requests within REVIEW_DELAY become one. Never fails: a vote is worth more."""
    from leaderboard.tasks import votes_review as task  # the task imports this module

    delay = settings.REVIEW_DELAY.total_seconds()
    try:
        if cache.add(REQUESTED, timezone.now().isoformat(), timeout=delay):
            task.apply_async(countdown=delay, retry=False)
    except Exception as error:  # whatever a cache or a broker raises when it is down
        with suppress(Exception):
            cache.delete(REQUESTED)
        log.warning("no review of votes could be requested, the next vote tries again: %r", error)
