"""Every write of the leaderboard: comparisons come in, snapshots are made of them."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import isfinite

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from leaderboard.errors import ComparisonInvalid
from leaderboard.models import Comparison, ComparisonQuerySet
from leaderboard.rebuild import snapshot_rebuild

__all__ = ["NewComparison", "comparisons_exclude", "comparisons_record", "snapshot_rebuild", "snapshot_request"]

log = logging.getLogger(__name__)

REQUESTED = "leaderboard:snapshot_requested"
# Rows of one INSERT: 12 columns each must stay below SQLite's 32,766 variables.
BATCH = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewComparison:
    """One judgement on two models that another app hands down. (source_kind, source_id, pair) identifies it."""

    model_a_id: int
    model_b_id: int
    outcome: str
    source_kind: str
    source_id: str
    voter_id: int | None
    is_blind: bool
    category: str
    language: str
    created_at: datetime
    weight: float = 1.0


@transaction.atomic
def comparisons_record(*, comparisons: Sequence[NewComparison]) -> None:
    """Store comparisons and have the leaderboard made anew once the transaction has committed.

    Recording the same judgement again changes nothing. Raises ComparisonInvalid, and stores none of them, if one is
    between a model and itself, has an unknown outcome or a weight that is not above 0.
    """
    for comparison in comparisons:
        if (
            comparison.model_a_id == comparison.model_b_id
            or comparison.outcome not in Comparison.Outcome.values
            or not (isfinite(comparison.weight) and comparison.weight > 0)
        ):
            # ignore_conflicts would drop such a row without a word.
            raise ComparisonInvalid()
    rows = [
        Comparison(
            model_a_id=one.model_a_id,
            model_b_id=one.model_b_id,
            outcome=one.outcome,
            source_kind=one.source_kind,
            source_id=one.source_id,
            voter_id=one.voter_id,
            is_blind=one.is_blind,
            category=one.category,
            language=one.language,
            weight=one.weight,
            created_at=one.created_at,
        )
        for one in comparisons
    ]
    Comparison.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)
    transaction.on_commit(snapshot_request)


@transaction.atomic
def comparisons_exclude(*, comparisons: ComparisonQuerySet, reason: str) -> int:
    """Leave comparisons out of the ratings for `reason` (at most 32 characters), or count them again with "".

    Returns how many rows changed.
    """
    changed = comparisons.exclude(exclusion=reason).update(exclusion=reason)
    if changed:
        transaction.on_commit(snapshot_request)
    return changed


def snapshot_request() -> None:
    """Have a snapshot made soon; requests within `SNAPSHOT_DELAY` become one. Never fails: a vote is worth more."""
    from leaderboard.tasks import snapshot_rebuild as task  # the task imports this module

    delay = settings.SNAPSHOT_DELAY.total_seconds()
    try:
        # The key outlives the countdown by nothing: a vote that comes while the task runs asks for one more.
        if not cache.add(REQUESTED, timezone.now().isoformat(), timeout=delay):
            return
        task.apply_async(countdown=delay, retry=False)
    except Exception as error:  # whatever a cache or a broker raises when it is down
        with suppress(Exception):
            cache.delete(REQUESTED)
        log.warning("no snapshot could be requested, the next vote tries again: %r", error)
