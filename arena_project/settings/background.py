"""Celery: the broker URL is the only difference between one machine and many."""

from arena_project.settings.base import VAR, env
from arena_project.settings.data import REDIS_URL

CELERY_BROKER_URL = env.str("BROKER_URL", default=REDIS_URL or "filesystem://localhost")
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {}
if CELERY_BROKER_URL.startswith("filesystem"):
    _broker = VAR / "broker"
    for _name in ("messages", "control"):
        (_broker / _name).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_broker / "messages"),
        "data_folder_out": str(_broker / "messages"),
        "control_folder": str(_broker / "control"),
        "polling_interval": 0.05,
    }
elif CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 10, "socket_connect_timeout": 3}
CELERY_WORKER_POOL = "arena_project.worker_pool:Threads"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_DEFAULT_QUEUE = "tourney"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
# What `celery beat`, or the one worker of one machine itself, asks for, by task and seconds: nothing here is the only
# way to anything, but what a dead process or a broker that was away has left behind is found. A question that waits
# longer than its turn is not asked twice.
_PERIODIC = {
    "leftovers_clear": 30,
    "jobs_sweep": 60,
    "flags_sweep": 600,
    "battles_describe": 600,
    "images_purge": 3_600,
    "people_erase_due": 3_600,
    "retention_apply": 86_400,
}
CELERY_BEAT_SCHEDULE = {
    name: {"task": name, "schedule": seconds, "options": {"expires": seconds}} for name, seconds in _PERIODIC.items()
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR / "celerybeat-schedule")
