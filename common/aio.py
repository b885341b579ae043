"""Tasks that outlive the request which began them, and values that belong to one event loop."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Generic, TypeVar

from common.logs import bind, ids_now

T = TypeVar("T")


def spawn(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start a task in a context that is empty but for the ids of the log; the caller must keep it.

    A task that inherits a request's context would run its database calls on that request's own thread, which is gone
    when the request is (asgiref keeps the executor in a context variable).
    """
    context = Context()
    context.run(bind, **ids_now())
    return asyncio.get_running_loop().create_task(coroutine, context=context)


class PerLoop(Generic[T]):
    """One value for each running event loop. A weak mapping would not do: such values hold their loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: dict[asyncio.AbstractEventLoop, T] = {}

    def get(self) -> T:
        loop = asyncio.get_running_loop()
        if loop not in self._values:
            for other in tuple(self._values):
                if other.is_closed():
                    self._values.pop(other, None)
            self._values[loop] = self._make()
        return self._values[loop]
