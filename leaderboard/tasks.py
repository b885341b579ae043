"""Celery shells around the leaderboard's services."""

from celery import shared_task

from leaderboard import services


@shared_task(name="snapshot_rebuild")
def snapshot_rebuild() -> None:
    services.snapshot_rebuild()


@shared_task(name="votes_review")
def votes_review() -> None:
    from leaderboard import anomalies  # loads more of the statistics than a web process should

    anomalies.votes_review()
