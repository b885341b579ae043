"""Celery shells around the leaderboard's services."""

from celery import shared_task

from leaderboard import services


@shared_task(name="snapshot_rebuild")
def snapshot_rebuild() -> None:
    snapshot = services.snapshot_rebuild()
    if snapshot is not None:
        services.pairing_refresh(pairs=snapshot.pairs)
