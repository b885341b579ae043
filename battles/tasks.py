"""Celery shells around battles."""

from celery import shared_task

from battles import excluding, images


@shared_task(name="images_purge")
def images_purge() -> None:
    images.images_purge()


@shared_task(name="flagged_votes_apply")
def flagged_votes_apply(voter_id: int) -> None:
    excluding.flagged_votes_apply(voter_id=voter_id)


@shared_task(name="flags_sweep")
def flags_sweep() -> None:
    excluding.flags_sweep()
