"""How a web process ends. Daphne has no lifespan events and would cut everything off at once; here it takes nobody new,
stores what it is writing, lets requests that are under way end, and tells its sockets to come back, which leads them to
another process or to the next one. Under another server nothing is changed."""

import asyncio
import atexit
import logging
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any, cast

from providers.live import interrupt_all

# Together less than what systemd and containers allow. The first is long only where the database is away.
SAVED_WITHIN_SECONDS = 20.0
REQUESTS_END_WITHIN_SECONDS = 3.0
SOCKETS_END_WITHIN_SECONDS = 2.0
THREADS_END_WITHIN_SECONDS = 2.0
SERVICE_RESTART = 1012  # RFC 6455's registry: come back


def end_in_good_order() -> None:
    """Have daphne, where it is what runs, end as said above."""
    daphne, reactor = sys.modules.get("daphne.server"), sys.modules.get("twisted.internet.reactor")
    if daphne is None or reactor is None:
        return
    from twisted.internet.defer import Deferred

    def end(server: Any) -> Any:
        return Deferred.fromFuture(asyncio.ensure_future(_end(server)))

    cast(Any, daphne).Server.kill_all_applications = end
    cast(Any, reactor).addSystemEventTrigger("after", "shutdown", _leave_threads)
    atexit.register(_end_now)  # first registered, so the last to be called


async def _end(server: Any) -> None:
    await _stop_listening()
    await _ended([asyncio.ensure_future(interrupt_all())], SAVED_WITHIN_SECONDS)
    await _ended(_applications(server, sockets=False), REQUESTS_END_WITHIN_SECONDS)
    await _ended([asyncio.ensure_future(interrupt_all())], SAVED_WITHIN_SECONDS)  # what these requests have begun
    for protocol in tuple(server.connections):
        if _is_socket(protocol) and protocol.state == protocol.STATE_OPEN:
            protocol.sendClose(code=SERVICE_RESTART)
    await _ended(_applications(server, sockets=True), SOCKETS_END_WITHIN_SECONDS)
    for application in _applications(server):
        application.cancel()


async def _stop_listening() -> None:
    from twisted.internet import reactor
    from twisted.internet.interfaces import IListeningPort

    for reader in cast(Any, reactor).getReaders():
        if IListeningPort.providedBy(reader):
            reader.doRead()  # whoever has knocked already is let in
            await reader.stopListening().asFuture(asyncio.get_running_loop())


async def _ended(tasks: Iterable["asyncio.Future[Any]"], seconds: float) -> None:
    """When they have, or after so many seconds."""
    if waited := [task for task in tasks if not task.done()]:
        await asyncio.wait(waited, timeout=seconds)


def _applications(server: Any, *, sockets: bool | None = None) -> list["asyncio.Future[Any]"]:
    """Those of sockets, those of requests, or all; a request whose body still comes has none."""
    return [
        details["application_instance"]
        for protocol, details in server.connections.items()
        if "application_instance" in details and sockets in (None, _is_socket(protocol))
    ]


def _is_socket(protocol: Any) -> bool:
    return hasattr(protocol, "sendClose")


def _leave_threads() -> None:
    """Python would wait for the threads of requests that were cut off, and they for the event loop, which has ended: it
    ends all the same, after a moment for those that are still at the database."""
    timer = threading.Timer(THREADS_END_WITHIN_SECONDS, _end_now)
    timer.daemon = True
    timer.start()


def _end_now() -> None:
    """On a busy machine Python would take seconds to clear its memory first."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)
