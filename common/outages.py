"""When database or Redis are away, or the disk is full: one sentence for people, and a status for programs."""

import errno
import sys

from django.db import InterfaceError, OperationalError

from common.errors import TourneyError

RETRY_AFTER_SECONDS = 5


class Unavailable(TourneyError):
    heading = "Back in a moment"
    code = "unavailable"
    status = 503
    message = (
        "A part that this arena stands on does not answer right now. Nothing that was saved is lost; try again soon."
    )


class DatabaseAway(Unavailable):
    message = "The arena's database does not answer right now. Nothing that was saved is lost; try again in a moment."


class DiskFull(Unavailable):
    heading = "The disk is full"
    status = 507
    code = "disk_full"
    message = (
        "The disk of this arena's server is full, so nothing new can be kept. Nothing that was saved is lost; "
        "whoever runs the arena has to make room."
    )


class RedisAway(Unavailable):
    message = (
        "The arena's memory of what is under way does not answer right now. "
        "Nothing that was saved is lost; try again in a moment."
    )


def outage_of(error: BaseException | None) -> Unavailable | None:
    """What is away, where `error` says that something is; None for defects of ours."""
    if _is_disk_full(error):
        return DiskFull()
    if isinstance(error, OperationalError | InterfaceError):
        # SQLite says the same of a table that is missing, which waiting does not mend.
        return None if str(error).startswith("no such") else DatabaseAway()
    redis = sys.modules.get("redis.exceptions")  # loaded where there is Redis
    if redis and isinstance(error, redis.ConnectionError | redis.TimeoutError):
        return RedisAway()
    return None


def _is_disk_full(error: BaseException | None) -> bool:
    if isinstance(error, OperationalError):
        # SQLite's words, and the name of PostgreSQL's error in its driver.
        return "disk is full" in str(error) or type(error.__cause__).__name__ == "DiskFull"
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
