"""Long work of one event loop that somebody looks after."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

PULSE_SECONDS = 1.0


async def pulsed(work: Coroutine[Any, Any, None], pulse: Callable[[], Awaitable[None]]) -> None:
    """Do the work, and call `pulse` every second and once at its end. What `pulse` raises ends the work, and only what
    is under way at that moment is lost."""
    task = asyncio.create_task(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=PULSE_SECONDS)
            await pulse()
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
