"""Celery shells around the leaderboard's services."""

from celery import shared_task

from leaderboard import services


@shared_task(name="snapshot_rebuild")
def snapshot_rebuild() -> None:
    services.snapshot_rebuild()
