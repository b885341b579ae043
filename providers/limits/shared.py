"""The one gate of this process."""

from functools import cache

from django.conf import settings

from providers.limits.gate import Gate


@cache
def gate() -> Gate:
    """Shared by all processes where there is Redis, of this process alone where there is none."""
    if not settings.REDIS_URL:
        return Gate()
    from providers.limits.redis_store import RedisStore  # takes a while to load, and most have no use for it

    return Gate(RedisStore(settings.REDIS_URL))
