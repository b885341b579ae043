"""Every write of the leaderboard: comparisons come in, snapshots are made of them."""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from math import isfinite

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from common.stopping import step
from leaderboard.errors import ComparisonInvalid
from leaderboard.exclusions import Exclusion
from leaderboard.extras import extras_wait
from leaderboard.models import MAIN, Comparison, ComparisonQuerySet, Snapshot
from leaderboard.pairing import pairing_refresh
from leaderboard.personal import person_rebuild
from leaderboard.rebuild import boards_rebuild
from leaderboard.replacing import comparisons_replaced

__all__ = [
    "NewComparison",
    "Style",
    "comparisons_exclude",
    "comparisons_follow_flag",
    "comparisons_record",
    "comparisons_replace",
    "pairing_refresh",
    "personal_rebuild",
    "personal_request",
    "snapshots_rebuild",
    "snapshots_request",
    "votes_forget",
]

log = logging.getLogger(__name__)

PERSONAL_DELAY_SECONDS = 2.0
REQUESTED = "leaderboard:snapshots_requested"
# Rows of one INSERT: 19 columns each must stay below SQLite's 32,766 variables.
BATCH = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How the two answers differ in form: (a - b) / (a + b) of characters, headers, bold pieces and list items, each
    from -1 to 1, 0 where neither has any. Source: LMSYS (2024), Does style matter?"""

    length: float
    headers: float
    bold: float
    lists: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NewComparison:
    """One judgement on two models that another app hands down. (source_kind, source_id, pair) identifies it, and all
    with one (source_kind, source_id) are one ballot. `model_a_id` is the one that was shown first."""

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
    judge: str = ""
    board: str = ""
    mode: str = ""
    style: Style | None = None
    exclusion: str = ""


@transaction.atomic
def comparisons_record(*, comparisons: Sequence[NewComparison]) -> None:
    """Store comparisons and have the leaderboard made anew once the transaction has committed.

    Recording the same judgement again changes nothing. Raises ComparisonInvalid, and stores none of them, if one is
    between a model and itself, has an unknown outcome or a weight that is not above 0.
    """
    rows = [_row(one) for one in comparisons]
    Comparison.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BATCH)
    transaction.on_commit(snapshots_request)


@transaction.atomic
def comparisons_replace(
    *, source_kind: str, comparisons: Iterable[NewComparison], keeps_forgotten: bool = False
) -> tuple[int, int, int]:
    """Make the comparisons of one source equal to these; returns how many were added, changed and removed.

    With `keeps_forgotten` those without a voter stay: whoever gave them has gone, and what they were made from, too.
    Raises what `comparisons_record` raises; then nothing was changed.
    """
    rows = (_row(one) for one in comparisons)
    counts = comparisons_replaced(source_kind=source_kind, rows=rows, keeps_forgotten=keeps_forgotten)
    if any(counts):
        transaction.on_commit(snapshots_request)
    return counts


def _row(one: NewComparison) -> Comparison:
    if (
        one.model_a_id == one.model_b_id
        or one.outcome not in Comparison.Outcome.values
        or not (isfinite(one.weight) and one.weight > 0)
    ):
        # ignore_conflicts would drop such a row without a word.
        raise ComparisonInvalid()
    return Comparison(
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
        judge=one.judge,
        board=one.board,
        mode=one.mode,
        style_length=None if one.style is None else one.style.length,
        style_headers=None if one.style is None else one.style.headers,
        style_bold=None if one.style is None else one.style.bold,
        style_lists=None if one.style is None else one.style.lists,
        exclusion=one.exclusion,
        created_at=one.created_at,
    )


@transaction.atomic
def comparisons_exclude(*, comparisons: ComparisonQuerySet, reason: str) -> int:
    """Leave comparisons out of the ratings for `reason` (at most 32 characters), or count them again with "".

    Returns how many rows changed.
    """
    changed = comparisons.exclude(exclusion=reason).update(exclusion=reason)
    if changed:
        transaction.on_commit(snapshots_request)
    return changed


def comparisons_follow_flag(*, voter_id: int, is_flagged: bool, source_kind: str) -> int:
    """Leave a flagged person's comparisons of one source out, or count those again that were left out for the flag
    alone; returns how many rows changed."""
    rows = Comparison.objects.filter(voter=voter_id, source_kind=source_kind)
    rows = rows.filter(exclusion="" if is_flagged else Exclusion.FLAGGED)
    return comparisons_exclude(comparisons=rows, reason=Exclusion.FLAGGED.value if is_flagged else "")


def votes_forget(*, voter_id: int | None = None, source_kind: str = "", source_ids: Sequence[str] = ()) -> int:
    """Have comparisons forget who gave them, all of a voter or those of these sources: they count as before. Returns
    how many."""
    rows = Comparison.objects.exclude(voter=None)
    if voter_id is not None:
        return rows.filter(voter=voter_id).update(voter=None)
    return rows.filter(source_kind=source_kind, source_id__in=source_ids).update(voter=None)


def snapshots_rebuild() -> list[Snapshot]:
    """Make a snapshot of everything that has changed since its last one, and return them.

    Where it was too early for a part that costs much, another rebuild is asked for when it may be made. Raises GivesWay
    in a process that is being ended.
    """
    made = boards_rebuild()
    for snapshot in made:
        if snapshot.board.slug == MAIN and not (snapshot.category or snapshot.language):
            pairing_refresh(pairs=snapshot.pairs)
    waits = [wait for snapshot in made if (wait := extras_wait(snapshot)) is not None]
    if waits:
        snapshots_request(delay=min(waits))
    step()
    return made


def personal_rebuild(*, person_id: int) -> Snapshot | None:
    """Make one person's own ranking anew; None where nothing has changed."""
    return person_rebuild(person_id)


def personal_request(*, person_id: int) -> None:
    """Have one person's own ranking made soon; never fails."""
    from leaderboard.tasks import personal_rebuild as task  # the task imports this module

    _request(
        f"leaderboard:personal:{person_id}", PERSONAL_DELAY_SECONDS, lambda: task.apply_async((person_id,), retry=False)
    )


def snapshots_request(*, delay: float | None = None) -> None:
    """Have snapshots made soon, or in `delay` seconds; requests within that time become one. Never fails: a vote is
    worth more."""
    from leaderboard.tasks import snapshots_rebuild as task  # the task imports this module

    key = REQUESTED if delay is None else f"{REQUESTED}:later"
    seconds = settings.SNAPSHOT_DELAY.total_seconds() if delay is None else delay
    # The key outlives the countdown by nothing: a vote that comes while the task runs asks for one more.
    _request(key, seconds, lambda: task.apply_async(countdown=seconds, retry=False))


def _request(key: str, seconds: float, enqueue: Callable[[], object]) -> None:
    """Once within `seconds`."""
    try:
        if cache.add(key, timezone.now().isoformat(), timeout=seconds):
            enqueue()
    except Exception as error:  # whatever a cache or a broker raises when it is down
        with suppress(Exception):
            cache.delete(key)
        log.warning("no snapshot could be requested, the next vote tries again: %r", error)
