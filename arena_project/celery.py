"""The Celery application: `celery -A arena_project.celery worker`."""

import os
from typing import Any

from celery import Celery
from celery.beat import EmbeddedService
from celery.signals import worker_ready

from arena_project.file_broker import file_broker_use

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
# Set by `manage.py run`, whose one worker is its own clock; workers that are started by themselves share one beat.
IS_CLOCK = "TOURNEY_WORKER_IS_CLOCK"
file_broker_use()
app = Celery("tourney", task_cls="arena_project.worker_pool:HandedOnTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def _pick_up_jobs(**kwargs: Any) -> None:
    """A worker that starts may follow one that died: look for its jobs once it must have been missed, and for what
    should have been cleaned up."""
    app.send_task("jobs_sweep", countdown=35)
    app.send_task("images_purge", countdown=60)
    app.send_task("flags_sweep", countdown=50)
    app.send_task("battles_describe", countdown=70)
    if IS_CLOCK in os.environ:
        clock: Any = EmbeddedService(app, thread=True)
        clock.start()
