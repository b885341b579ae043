"""Makes the comparisons of one source equal to what that source says now. Called through the services."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction

from leaderboard.models import Comparison

FIELDS = (
    "outcome", "voter_id", "judge", "board", "mode", "is_blind", "category", "language", "weight", "style_length",
    "style_headers", "style_bold", "style_lists", "exclusion", "created_at",
)  # fmt: skip
KEY = ("source_id", "model_a_id", "model_b_id")
VOTER = FIELDS.index("voter_id")
BATCH = 1000


@transaction.atomic
def comparisons_replaced(
    *, source_kind: str, rows: Iterable[Comparison], keeps_forgotten: bool = False
) -> tuple[int, int, int]:
    """Add what is missing, change what differs, remove what is not there any more, but with `keeps_forgotten` none
    without a voter; returns the three counts."""
    there: dict[tuple[Any, ...], tuple[Any, ...]] = {
        row[: len(KEY)]: row[len(KEY) :]
        for row in Comparison.objects.filter(source_kind=source_kind).values_list(*KEY, "pk", *FIELDS).iterator()
    }
    new: list[Comparison] = []
    different: list[Comparison] = []
    for row in rows:
        known = there.pop(tuple(getattr(row, name) for name in KEY), None)
        if known is None:
            new.append(row)
        elif known[1:] != tuple(getattr(row, name) for name in FIELDS):
            row.pk = known[0]
            different.append(row)
    Comparison.objects.bulk_create(new, batch_size=BATCH)
    Comparison.objects.bulk_update(different, [name.removesuffix("_id") for name in FIELDS], batch_size=BATCH)
    surplus = [known[0] for known in there.values() if not keeps_forgotten or known[1 + VOTER] is not None]
    for start in range(0, len(surplus), BATCH):
        Comparison.objects.filter(pk__in=surplus[start : start + BATCH]).delete()
    return len(new), len(different), len(surplus)
