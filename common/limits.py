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
