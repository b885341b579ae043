"""Celery shells around battles."""

from celery import shared_task

from battles import images


@shared_task(name="images_purge")
def images_purge() -> None:
    images.images_purge()
