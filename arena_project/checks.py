"""What can be wrong with this machine before anything is started, each in one line that says what to do."""

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import DatabaseError, connection

from providers.engines.embedded import port_is_taken

OLDEST_SQLITE = (3, 37, 0)  # RETURNING and strict enough; Django 5.2 itself asks for 3.31


class EnvironmentProblem(Exception):
    """Tourney cannot start here; the message is one line for the person who starts it."""


def lock_var(var: Path) -> IO[str]:
    """Take the data folder for this process and return the lock, which is held as long as the file is open.

    Two servers on one folder would each take the other's answers under way for a dead server's.
    """
    file = (var / "tourney.lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        raise EnvironmentProblem(
            f"Tourney runs on {var} already (process {holder}). Stop it, or give this one a folder of its own: "
            "TOURNEY_VAR=other-folder PORT=8100 make run"
        ) from None
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()))
    file.flush()
    return file


def check_ports() -> None:
    """Raise EnvironmentProblem when a port that we listen on is taken."""
    if port_is_taken(settings.HOST, settings.PORT):
        raise EnvironmentProblem(
            f"Port {settings.PORT} is taken. Stop what uses it, or choose another: PORT={settings.PORT + 100} make run"
        )
    if settings.EMBEDDED_ENGINE and port_is_taken("127.0.0.1", settings.EMBEDDED_PORT):
        raise EnvironmentProblem(
            f"Port {settings.EMBEDDED_PORT}, for the embedded model, is taken. Stop what uses it, or choose another "
            f"with EMBEDDED_PORT (it is PORT + 1 by itself)."
        )


def check_database() -> None:
    """Raise EnvironmentProblem when the database does not answer."""
    if connection.vendor == "sqlite" and sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise EnvironmentProblem(f"This Python brings SQLite {sqlite3.sqlite_version}; 3.37 or newer is needed.")
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        where = settings.DATABASES["default"]
        raise EnvironmentProblem(
            f"The database {where['NAME']} at {where.get('HOST') or 'this machine'} does not answer: "
            f"{str(error).strip().splitlines()[0]}. DATABASE_URL says where it is."
        ) from error


def check_redis() -> None:
    """Raise EnvironmentProblem when REDIS_URL is set and Redis does not answer."""
    if not settings.REDIS_URL:
        return
    import redis  # not needed on one machine, so it is not paid for there

    try:
        redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=3, socket_timeout=3).ping()
    except (redis.RedisError, ValueError) as error:
        raise EnvironmentProblem(f"Redis does not answer: {error}. REDIS_URL says where it is.") from error
