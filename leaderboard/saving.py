"""Stores a snapshot that a rebuild has made, one at a time, and drops old ones. Called by the rebuild only."""

from collections.abc import Sequence

from django.db import connection, transaction
from django.db.models import Max, QuerySet
from django.db.models.functions import TruncDate

from leaderboard.models import Rating, Snapshot

# The number of the PostgreSQL lock under which snapshots are saved: "SNAP" in ASCII.
LOCK = 0x534E4150

# Recent snapshots are all kept; of the older the last of each day, as history.
SNAPSHOTS_KEPT = 200


@transaction.atomic
def snapshot_save(
    snapshot: Snapshot, rows: Sequence[Rating], *, previous: Snapshot | None, is_last_attempt: bool
) -> bool:
    """Store the snapshot unless another was stored since `previous` was read; returns whether it was stored.

    The last attempt gives way unless the other snapshot has fewer votes, or only older ones: a vote must not wait for
    the next.
    """
    if connection.vendor == "postgresql":
        # One at a time. There may be no row yet that could be locked; SQLite's transactions are one at a time anyway.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    newest = siblings_of(snapshot).defer("pairs", "extras").order_by("-id").first()
    if newest is not None and newest != previous:
        has_fewer = newest.comparisons < snapshot.comparisons or newest.last_comparison_id < snapshot.last_comparison_id
        if not (is_last_attempt and has_fewer):
            return False
    snapshot.save()
    Rating.objects.bulk_create(rows)
    snapshots_prune(newest=snapshot)
    return True


def siblings_of(snapshot: Snapshot) -> QuerySet[Snapshot]:
    """All snapshots of the same segment, or of the same person."""
    return Snapshot.objects.filter(
        board=snapshot.board, category=snapshot.category, language=snapshot.language, person=snapshot.person
    )


def snapshots_prune(*, newest: Snapshot) -> None:
    """Keep the last `SNAPSHOTS_KEPT` and the last of every earlier day, of a person only the newest; the table of pairs
    and the extras only in the newest."""
    siblings = siblings_of(newest)
    if newest.person_id:
        siblings.filter(pk__lt=newest.pk).delete()
        return
    siblings.filter(pk__lt=newest.pk).exclude(pairs=[], extras={}).update(pairs=[], extras={})
    kept = siblings.order_by("-id").values_list("pk", flat=True)[SNAPSHOTS_KEPT - 1 : SNAPSHOTS_KEPT].first()
    if kept is None:
        return
    older = siblings.filter(pk__lt=kept).order_by()
    last_of_days = older.annotate(day=TruncDate("computed_at")).values("day").annotate(pk_last=Max("pk"))
    older.exclude(pk__in=[row["pk_last"] for row in last_of_days]).delete()
