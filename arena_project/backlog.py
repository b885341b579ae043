"""How much background work waits, looked up in the broker when metrics are asked for."""

import logging
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from common.metrics import QUEUE_LENGTH

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 1.0


def backlog() -> int | None:
    """Tasks that no worker has taken yet; None where the broker cannot say."""
    url = str(settings.CELERY_BROKER_URL)
    if url.startswith("filesystem"):
        folder = Path(str(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_out"]))
        return sum(1 for _ in folder.glob(f"*.{settings.CELERY_TASK_DEFAULT_QUEUE}.msg"))
    if not url.startswith(("redis://", "rediss://")):
        return None
    import redis  # not needed on one machine

    try:
        client = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS, retry=None
        )
        with client:
            return int(client.llen(settings.CELERY_TASK_DEFAULT_QUEUE))
    except redis.RedisError as error:
        log.warning("the broker does not say how much waits: %r", error)
        return None


class BacklogCollector(Collector):
    """The backlog as a metric; missing where it is not known."""

    def collect(self) -> Iterator[Metric]:
        waiting = backlog()
        if waiting is not None:
            yield GaugeMetricFamily(QUEUE_LENGTH, "Background tasks that wait for a worker.", value=waiting)
