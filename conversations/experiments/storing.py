"""Gathers turns that have ended and stores them together: while one transaction is under way, the next one fills."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
# Of each second the database gets about a third, so that many share a transaction and one alone waits for none.
REST_TIMES = 2.0
REST_MAX_SECONDS = 0.1


class Storing(Generic[T]):
    """`store` takes all that have come since it was last called. Where that fails, each is tried by itself, so that one
    that cannot be stored costs no other."""

    def __init__(self, store: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._store = store
        self._waiting: list[tuple[T, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None
        self._free_at = 0.0

    async def put(self, one: T) -> None:
        """Returns when it is stored. Raises what `store` raised for it."""
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((one, stored))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        await stored

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(self._free_at - loop.time())
            group, self._waiting = self._waiting, []
            began = loop.time()
            await self._store_all(group)
            self._free_at = loop.time() + min(REST_MAX_SECONDS, REST_TIMES * (loop.time() - began))

    async def _store_all(self, group: list[tuple[T, asyncio.Future[None]]]) -> None:
        try:
            await self._store([one for one, _ in group])
        except Exception as error:  # one turn that cannot be stored must not cost the others of its transaction
            if len(group) == 1:
                _end(group[0][1], error)
                return
            for each in group:
                await self._store_all([each])
            return
        for _, stored in group:
            _end(stored)


def _end(stored: asyncio.Future[None], error: Exception | None = None) -> None:
    if stored.done():  # whoever waited was cancelled
        return
    if error:
        stored.set_exception(error)
    else:
        stored.set_result(None)
