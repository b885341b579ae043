"""Tasks that outlive the request which began them."""

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any


def spawn(coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Start a task in an empty context; the caller must keep it.

    A task that inherits a request's context would run its database calls on that request's own thread, which is gone
    when the request is (asgiref keeps the executor in a context variable).
    """
    return asyncio.get_running_loop().create_task(coroutine, context=Context())
