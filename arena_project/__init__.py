"""Settings, routes, ASGI and Celery: knows every app, and no app imports it."""

from arena_project.celery import app as celery_app

__all__ = ["celery_app"]
__version__ = "0.1.0"
