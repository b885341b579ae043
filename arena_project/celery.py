"""The Celery application: `celery -A arena_project.celery worker`."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
app = Celery("tourney")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect
def _pick_up_jobs(**kwargs: Any) -> None:
    """A worker that starts may follow one that died: look for its jobs once it must have been missed, and for what
    should have been cleaned up."""
    app.send_task("jobs_sweep", countdown=35)
    app.send_task("images_purge", countdown=60)
    app.send_task("flags_sweep", countdown=50)
