"""What comparisons are about, where that is found out or corrected after they came."""

from collections.abc import Collection

from django.db import transaction

from leaderboard.models import Comparison
from leaderboard.services import snapshots_request


@transaction.atomic
def comparisons_label(*, source_kind: str, source_ids: Collection[str], category: str, language: str) -> int:
    """Set category and language of the comparisons of these ballots; returns how many rows changed."""
    rows = Comparison.objects.filter(source_kind=source_kind, source_id__in=source_ids)
    changed = rows.exclude(category=category, language=language).update(category=category, language=language)
    if changed:
        transaction.on_commit(snapshots_request)
    return changed
