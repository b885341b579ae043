"""Whether the parts that Tourney stands on are there. Each check has two seconds, whatever the part does: one that
hangs is said to give no answer, and is not asked again while it hangs. Reasons are ours; what a part said goes to the
log, since it may hold addresses and passwords."""

import asyncio
import logging
import os
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from channels.layers import get_channel_layer
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from arena_project.celery import app as celery_app

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 2.0
BROKER_TIMEOUT_SECONDS = 1
# A database that lacks migrations is looked at again this often, one that is up to date never.
MIGRATIONS_EVERY_SECONDS = 5.0
OK = "ok"


class NotReady(Exception):
    """The reason is ours, and is shown."""


def database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def cache_keeps() -> None:
    name = f"health:{uuid.uuid4()}"
    cache.set(name, 1, timeout=5)
    if cache.get(name) != 1:
        raise RuntimeError("the cache forgot a value at once")
    cache.delete(name)


def broker() -> None:
    if settings.CELERY_BROKER_URL.startswith("filesystem"):
        folder = Path(str(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_out"]))
        if not os.access(folder, os.W_OK):
            raise NotReady("its folder cannot be written")
        return
    with celery_app.connection_for_write(connect_timeout=BROKER_TIMEOUT_SECONDS) as found:
        found.ensure_connection(max_retries=1, timeout=BROKER_TIMEOUT_SECONDS)


class Migrations:
    """Whether every migration of this code is applied; costs a tenth of a second, so what was right stays so."""

    def __init__(self) -> None:
        self._missing: int | None = None
        self._at = 0.0

    def __call__(self) -> None:
        if self._missing != 0 and (self._missing is None or time.monotonic() - self._at > MIGRATIONS_EVERY_SECONDS):
            executor = MigrationExecutor(connection)
            self._missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
            self._at = time.monotonic()
        if self._missing:
            raise NotReady(f"{self._missing} are not applied: run manage.py migrate")


def storage() -> None:
    """The data folder takes files: images, jobs and, by default, the database are in it."""
    probe = settings.VAR / f".probe-{os.getpid()}"
    try:
        probe.write_bytes(b"1" * 4096)
    except OSError as error:
        raise NotReady(f"the data folder cannot be written ({error.strerror})") from error
    finally:
        probe.unlink(missing_ok=True)


async def channel_layer() -> None:
    layer = get_channel_layer()
    if layer is None:
        raise NotReady("there is none")
    name = await layer.new_channel()
    await layer.send(name, {"type": "health"})
    await layer.receive(name)


Check = Callable[[], None]
BLOCKING: dict[str, Check] = {
    "database": database,
    "migrations": Migrations(),
    "cache": cache_keeps,
    "broker": broker,
    "storage": storage,
}
AWAITED: dict[str, Callable[[], Awaitable[None]]] = {"channel layer": channel_layer}

_threads = ThreadPoolExecutor(max_workers=len(BLOCKING), thread_name_prefix="readiness")
_under_way: dict[str, "Future[None]"] = {}


async def readiness() -> dict[str, str]:
    """Each part by name with `ok`, or the reason why it is not."""
    checks = {name: _in_thread(name, check) for name, check in BLOCKING.items()}
    checks |= {name: _awaited(check) for name, check in AWAITED.items()}
    states = await asyncio.gather(*(_state(name, check) for name, check in checks.items()))
    return dict(zip(checks, states, strict=True))


async def _state(name: str, check: Awaitable[None]) -> str:
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await check
    except NotReady as error:
        return str(error)
    except TimeoutError:
        log.warning("the check of %s had no answer within %g s", name, TIMEOUT_SECONDS)
        return f"no answer within {TIMEOUT_SECONDS:g} seconds"
    except Exception as error:
        log.warning("the check of %s failed: %r", name, error)
        return "it cannot be reached; the log says more"
    return OK


async def _awaited(check: Callable[[], Awaitable[None]]) -> None:
    await check()


async def _in_thread(name: str, check: Check) -> None:
    """A check that still hangs is not joined by another, or probes would fill the server with threads."""
    before = _under_way.get(name)
    if before is None or before.done():
        _under_way[name] = before = _threads.submit(_closing, check)
    await asyncio.shield(asyncio.wrap_future(before))


def _closing(check: Check) -> None:
    try:
        check()
    finally:
        connection.close()
