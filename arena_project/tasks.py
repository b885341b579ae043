"""Celery shells around what concerns several apps; when they are asked for is in the settings."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from arena_project import setup
from arena_project.people import retention
from arena_project.people.erasing import people_erase_due
from providers import live

# Whoever wrote it has said so by then, or is dead; see providers.live_remote.
SPARED = timedelta(seconds=60)


@shared_task(name="leftovers_clear")
def leftovers_clear() -> None:
    if live.is_shared():  # else only the web process knows what it still writes; the next start clears up after it
        setup.answers_clear(timezone.now() - SPARED)
    setup.states_refresh()


@shared_task(name="retention_apply")
def retention_apply() -> None:
    retention.retention_apply()


@shared_task(name="people_erase_due")
def people_erase() -> None:
    people_erase_due()
