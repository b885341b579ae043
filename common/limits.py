"""Limits on how often something may happen, counted in the cache: shared by all processes where the cache is Redis,
per process where it is memory."""

import time

from django.core.cache import cache

from common.errors import TooMany


def hit(key: str, *, limit: int, seconds: int) -> None:
    """Count one event under `key`; raise TooMany when more than `limit` came in this window of `seconds`.

    Windows are fixed and start at multiples of `seconds` since the epoch. At the seam of two windows up to twice the
    limit may pass within `seconds`; in return an event costs two cache calls and no list of times. `retry_after` is
    the time until the next window.
    """
    now = time.time()
    window = int(now // seconds)
    name = f"limit:{key}:{seconds}:{window}"
    if cache.add(name, 1, timeout=seconds + 1):
        count = 1
    else:
        try:
            count = cache.incr(name)
        except ValueError:  # it expired, or was evicted, between the two calls
            cache.add(name, 1, timeout=seconds + 1)
            count = 1
    if count > limit:
        raise TooMany(retry_after=(window + 1) * seconds - now)


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
