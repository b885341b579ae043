"""Celery shells around the leaderboard's services."""

from celery import shared_task

from leaderboard import services


@shared_task(name="snapshots_rebuild")
def snapshots_rebuild() -> None:
    services.snapshots_rebuild()


@shared_task(name="personal_rebuild")
def personal_rebuild(person_id: int) -> None:
    services.personal_rebuild(person_id=person_id)
