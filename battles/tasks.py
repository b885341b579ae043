"""Celery shells around battles."""

from uuid import UUID

from celery import shared_task

from battles import describing, excluding, images
from battles.category_judge import categories_judge as judge


@shared_task(name="images_purge")
def images_purge() -> None:
    images.images_purge()


@shared_task(name="flagged_votes_apply")
def flagged_votes_apply(voter_id: int) -> None:
    excluding.flagged_votes_apply(voter_id=voter_id)


@shared_task(name="flags_sweep")
def flags_sweep() -> None:
    excluding.flags_sweep()


@shared_task(name="battles_describe")
def battles_describe(ids: list[str] | None = None) -> None:
    describing.battles_describe(ids=None if ids is None else [UUID(key) for key in ids])


@shared_task(name="categories_judge")
def categories_judge(model: str, ids: list[str]) -> None:
    judge(model=model, ids=[UUID(key) for key in ids])
