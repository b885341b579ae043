"""Where plain API views meet what happens live: coroutines on the server's loop, and event streams."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from asgiref.sync import async_to_sync
from rest_framework.renderers import BaseRenderer, JSONRenderer

T = TypeVar("T")


def now(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the server's own loop and wait for it."""

    async def run() -> T:
        return await coroutine

    return async_to_sync(run)()


class EventStreamRenderer(BaseRenderer):
    """Lets a client ask for `text/event-stream`; a refusal is still JSON."""

    media_type = "text/event-stream"
    format = "sse"

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        if renderer_context and "response" in renderer_context:
            renderer_context["response"].headers["Content-Type"] = "application/json"
        return JSONRenderer().render(data)
