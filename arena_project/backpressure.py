"""Lets an answer in several pieces wait for its reader.

Daphne takes whatever an application sends and holds it until the client has taken it, so a large download by a slow
reader would be in memory whole. Twisted, below it, can say when its buffer is full; daphne does not ask. Under another
server nothing is changed here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
Application = Callable[..., Awaitable[None]]


class Gate:
    """Twisted's push producer, with its names: closed while the transport's buffer is full."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.wait = self._open.wait

    def pauseProducing(self) -> None:
        self._open.clear()

    def resumeProducing(self) -> None:
        self._open.set()

    def stopProducing(self) -> None:
        self._open.set()


def waits_for_reader(application: Application) -> Application:
    """The same HTTP application, whose pieces leave as fast as they are read."""

    async def paced(scope: Message, receive: Any, send: Any) -> None:
        # Daphne binds its request to the function that it hands us.
        request: Any = next(iter(getattr(send, "args", ())), None)
        if not hasattr(request, "registerProducer"):
            await application(scope, receive, send)
            return
        gate = Gate()

        async def send_paced(message: Message) -> None:
            if message["type"] == "http.response.body" and _is_open(request):
                if message.get("more_body") and request.producer is None:
                    request.registerProducer(gate, True)
                await gate.wait()
                if not message.get("more_body"):
                    _leave(request, gate)  # only now: whoever has left is not told to go on
            await send(message)

        try:
            await application(scope, receive, send_paced)
        finally:
            _leave(request, gate)

    return paced


def _leave(request: Any, gate: Gate) -> None:
    if _is_open(request) and request.producer is gate:
        request.unregisterProducer()


def _is_open(request: Any) -> bool:
    """Twisted takes the channel away from a request that has ended."""
    return getattr(request, "channel", None) is not None
