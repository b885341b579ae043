"""Limits on how often something may happen, counted in the cache: shared by all processes where the cache is Redis,
per process where it is memory."""

import logging
import time

from django.core.cache import cache

from common import metrics
from common.errors import TooMany

log = logging.getLogger(__name__)


def hit(key: str, *, limit: int, seconds: int) -> None:
    """Count one event under `key`; raise TooMany when more than `limit` came in this window of `seconds`.

    Windows are fixed and start at multiples of `seconds` since the epoch. At the seam of two windows up to twice the
    limit may pass within `seconds`; in return an event costs two cache calls and no list of times. `retry_after` is
    the time until the next window. While the cache is away nothing is limited: a broken counter must cost no vote.
    """
    now = time.time()
    window = int(now // seconds)
    try:
        count = _count(f"limit:{key}:{seconds}:{window}", seconds)
    except Exception as error:  # whatever a cache raises when it is away
        log.warning("the limit %s is not kept, for the cache does not answer: %r", key.partition(":")[0], error)
        return
    if count > limit:
        metrics.limits_reached.labels(key.partition(":")[0]).inc()
        raise TooMany(retry_after=(window + 1) * seconds - now)


def _count(name: str, seconds: int) -> int:
    if cache.add(name, 1, timeout=seconds + 1):
        return 1
    try:
        return cache.incr(name)
    except ValueError:  # it expired, or was evicted, between the two calls
        cache.add(name, 1, timeout=seconds + 1)
        return 1


class TokenBucket:
    """A limit for one connection, kept in memory: `capacity` events at once, `rate` more a second."""

    def __init__(self, *, capacity: float, rate: float) -> None:
        self._capacity = self._tokens = capacity
        self._rate = rate
        self._at = time.monotonic()

    def take(self) -> bool:
        """Count one event; False where there was no token for it."""
        now = time.monotonic()
        self._tokens = min(self._capacity, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
