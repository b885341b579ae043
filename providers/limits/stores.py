"""Where the states of endpoints are kept: in this process, or (`redis_store`) where all processes share them."""

import math
import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from providers.limits.policy import State

T = TypeVar("T")
Change = Callable[[State, float], T]


class Store(Protocol):
    """Applies a change to the state of an endpoint, one at a time; the change gets the state and the time."""

    is_shared: bool
    lease_seconds: float

    async def change(self, key: str, change: Change[T]) -> T: ...


class MemoryStore:
    """For one process with any number of threads and event loops. Whoever holds a place dies with it, and its clock is
    one that nobody sets."""

    is_shared = False
    lease_seconds = math.inf

    def __init__(self) -> None:
        self._states: dict[str, State] = {}
        self._lock = threading.Lock()

    async def change(self, key: str, change: Change[T]) -> T:
        with self._lock:  # for microseconds, and never across an await
            return change(self._states.setdefault(key, State()), time.monotonic())
