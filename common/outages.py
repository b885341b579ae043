"""When database or Redis are away: one sentence for people, and a status that tells programs to try again."""

import sys

from django.db import InterfaceError, OperationalError

from common.errors import TourneyError

RETRY_AFTER_SECONDS = 5


class Unavailable(TourneyError):
    code = "unavailable"
    status = 503
    message = (
        "A part that this arena stands on does not answer right now. Nothing that was saved is lost; try again soon."
    )


class DatabaseAway(Unavailable):
    message = "The arena's database does not answer right now. Nothing that was saved is lost; try again in a moment."


class RedisAway(Unavailable):
    message = (
        "The arena's memory of what is under way does not answer right now. "
        "Nothing that was saved is lost; try again in a moment."
    )


def outage_of(error: BaseException | None) -> Unavailable | None:
    """What is away, where `error` says that something is; None for defects of ours."""
    if isinstance(error, OperationalError | InterfaceError):
        # SQLite says the same of a table that is missing, which waiting does not mend.
        return None if str(error).startswith("no such") else DatabaseAway()
    redis = sys.modules.get("redis.exceptions")  # loaded where there is Redis
    if redis and isinstance(error, redis.ConnectionError | redis.TimeoutError):
        return RedisAway()
    return None
