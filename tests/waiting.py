"""Waits for what happens elsewhere: in another thread, another process."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Raises TimeoutError when it does not come true. The time is for the slowest machine: a good one needs little."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 what we wait for has no event of this loop
            await asyncio.sleep(0.01)
