"""Waits for what happens elsewhere: in another thread, another process."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], bool], *, seconds: float = 5.0) -> None:
    """Raises TimeoutError when it does not come true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 what we wait for has no event of this loop
            await asyncio.sleep(0.01)
