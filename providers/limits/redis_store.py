"""The states of endpoints in Redis: one policy for all processes."""

import asyncio
import logging
import random
import time
from collections import defaultdict
from typing import Any, TypeVar

import msgspec
from redis import asyncio as redis

from common.aio import PerLoop
from providers.limits.policy import LEASE_SECONDS, State
from providers.limits.stores import Change, MemoryStore

log = logging.getLogger(__name__)

T = TypeVar("T")

PREFIX = "tourney:limits:"
# A state that nobody has touched for so long is forgotten; the window is then felt for anew.
FORGOTTEN_AFTER_SECONDS = 3600
TIMEOUT_SECONDS = 2.0
# Redis that did not answer is left alone for so long, or each answer would wait for it three times.
AWAY_SECONDS = 5.0
RETRY_SECONDS = 0.002
# Set only if nobody else has, since it was read.
SWAP = """
if (redis.call('GET', KEYS[1]) or '') == ARGV[1] then
    redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
    return 1
end
return 0
"""


class RedisStore:
    """Reads, decides, and writes unless another has written in between: then once more. While Redis is away each
    process decides for itself, so that a broken limiter stops no answer."""

    is_shared = True
    lease_seconds = LEASE_SECONDS

    def __init__(self, url: str) -> None:
        self._connections: PerLoop[Any] = PerLoop(
            lambda: redis.Redis.from_url(url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS)
        )
        # Those of one loop take turns, so that only other processes can come in between.
        self._turns: PerLoop[defaultdict[str, asyncio.Lock]] = PerLoop(lambda: defaultdict(asyncio.Lock))
        self._alone = MemoryStore()
        self._away_until = 0.0

    async def change(self, key: str, change: Change[T]) -> T:
        task = asyncio.current_task()
        cancelled = task.cancelling() if task else 0
        result = await self._change_anywhere(key, change)
        # The client sends within wait_for, which before Python 3.12 can lose a cancellation (CPython issue 86296):
        # whoever was stopped at that moment would go on, and ask.
        if task and task.cancelling() > cancelled:
            raise asyncio.CancelledError
        return result

    async def _change_anywhere(self, key: str, change: Change[T]) -> T:
        async with self._turns.get()[key]:
            if time.monotonic() >= self._away_until:
                try:
                    return await self._change(PREFIX + key, change)
                except (redis.RedisError, OSError) as error:
                    self._away_until = time.monotonic() + AWAY_SECONDS
                    log.warning("limits are not shared while Redis is away: %r", error)
        return await self._alone.change(key, change)

    async def _change(self, name: str, change: Change[T]) -> T:
        connection = self._connections.get()
        while True:
            before = await connection.get(name) or b""
            state = _read(before)
            result = change(state, time.time())
            after = msgspec.json.encode(state)
            if await connection.eval(SWAP, 1, name, before, after, FORGOTTEN_AFTER_SECONDS):
                return result
            await asyncio.sleep(random.random() * RETRY_SECONDS)


def _read(data: bytes) -> State:
    try:
        return msgspec.json.decode(data, type=State)
    except msgspec.DecodeError:  # none yet, or one of another version, whose places end with its leases anyway
        return State()
