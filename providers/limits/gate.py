"""The line in front of an endpoint: people before batches, first come first served, and everybody sees their place."""

import asyncio
import itertools
import threading
import time
from bisect import bisect_left, insort
from collections.abc import AsyncGenerator, Callable
from uuid import uuid4

from common import metrics
from providers.adapters.base import ErrorKind, Headroom, Limits, Priority, ProviderError
from providers.limits import policy
from providers.limits.stores import MemoryStore, Store

# Of each priority, in each process.
LINE_MAX = 5_000
WAIT_MAX_SECONDS = {Priority.INTERACTIVE: 120.0, Priority.BATCH: 3600.0}
# How often the first in line asks again where another process may have given a place back.
ASK_AGAIN_SECONDS = 0.05
PLACE_TOLD_EVERY_SECONDS = 1.0
RENEW_EVERY_SECONDS = policy.LEASE_SECONDS / 4

_sequence = itertools.count()


class NoPlace(ProviderError):
    """The line is too long, or moves too slowly. Whoever asks again at once only makes it longer."""


class Gate:
    """One for each process; knows a line for each model of an endpoint: one that is refused holds up no other."""

    def __init__(self, store: Store | None = None) -> None:
        self.id = uuid4().hex
        self.store = store or MemoryStore()
        self._lines: dict[tuple[str, str], _Line] = {}
        self._lock = threading.Lock()

    def ticket(self, limits: Limits, priority: Priority, tokens: float = 0.0) -> "Ticket":
        """What to hold while asking the endpoint `limits.key`. `tokens` is the expected size of question and answer."""
        with self._lock:
            line = self._lines.setdefault((limits.key, limits.model), _Line())
        return Ticket(self, line, limits, priority, tokens)

    def waiting(self, key: str) -> int:
        """How many wait in this process."""
        return sum(len(line) for line in self.lines(key))

    def wake(self, key: str) -> None:
        """A place at the endpoint has become free: whoever is first in each of its lines may ask for it."""
        for line in self.lines(key):
            line.wake_first()

    def lines(self, key: str) -> "list[_Line]":
        with self._lock:
            return [line for (endpoint, _), line in self._lines.items() if endpoint == key]


class _Line:
    """Those who wait in this process for one model of an endpoint, sorted. Safe for threads with loops of their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Priority, list[tuple[float, int, Ticket]]] = {priority: [] for priority in Priority}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def join(self, ticket: "Ticket") -> bool:
        with self._lock:
            others = self._waiting[ticket.priority]
            if len(others) >= LINE_MAX:
                return False
            insort(others, (*ticket.rank, ticket))
            return True

    def leave(self, ticket: "Ticket") -> None:
        with self._lock:
            others = self._waiting[ticket.priority]
            index = bisect_left(others, ticket.rank)
            if index < len(others) and others[index][2] is ticket:
                del others[index]

    def ahead(self, ticket: "Ticket", priority: Priority) -> int:
        """How many of this priority go before it. Batches stand behind all people."""
        if priority is not ticket.priority:
            return len(self._waiting[priority]) if ticket.priority is Priority.BATCH else 0
        return bisect_left(self._waiting[priority], ticket.rank)

    def next_since(self, ticket: "Ticket") -> float | None:
        """Since when the next after it has waited."""
        with self._lock:
            after = next((rank for rank in self._waiting[ticket.priority][:2] if rank[2] is not ticket), None)
        return after[0] if after else None

    def wake_first(self) -> None:
        with self._lock:
            first = [others[0][2] for others in self._waiting.values() if others]
        for ticket in first:
            ticket.wake()


class Ticket:
    """One request's way through the gate: wait, hold a place, give it back. Used by one task on one loop. After a
    refusal it may wait again, and stands where it stood."""

    def __init__(self, gate: Gate, line: _Line, limits: Limits, priority: Priority, tokens: float) -> None:
        self.priority = priority
        self.rank = (time.time(), next(_sequence))
        self._gate = gate
        self._store = gate.store
        self._line = line
        self._limits = limits
        self._tokens = tokens
        self._lease = ""
        self._loop = asyncio.get_running_loop()
        self.be_patient()
        self._woken = asyncio.Event()
        self._renewal: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def be_patient(self) -> None:
        """Wait from now on as long as one may: what it waited for until now was no place."""
        self._until = self._loop.time() + WAIT_MAX_SECONDS[self.priority]

    async def wait(self) -> AsyncGenerator[int, None]:
        """Yield the place in line, at first and whenever it changes; ends once a place is held. Nothing is yielded
        where there is room. Raises NoPlace."""
        if not self._limits.key:
            return
        if not self._line.ahead(self, self.priority) and await self._try() == 0:
            return
        if not self._line.join(self):
            raise NoPlace(ErrorKind.RATE_LIMIT, f"more than {LINE_MAX} requests wait for this endpoint")
        metrics.waiting.labels(self._limits.key).inc()
        try:
            told = 0
            while True:
                sleep = delay = PLACE_TOLD_EVERY_SECONDS
                if not self._line.ahead(self, self.priority):
                    delay = await self._try()
                    if delay == 0:
                        return
                    sleep = min(delay, ASK_AGAIN_SECONDS if self._store.is_shared else policy.SOON_SECONDS)
                if self._loop.time() + delay > self._until:
                    raise NoPlace(ErrorKind.RATE_LIMIT, "no place becomes free in time")
                place = self._place()
                if place != told:
                    told = place
                    yield place
                await self._sleep(sleep)
        finally:
            metrics.waiting.labels(self._limits.key).dec()
            self._line.leave(self)
            self._gate.wake(self._limits.key)

    def _place(self) -> int:
        lines = self._gate.lines(self._limits.key) if policy.shares(self._limits) else [self._line]
        return 1 + sum(line.ahead(self, priority) for line in lines for priority in Priority)

    async def opened(self, headroom: Headroom) -> None:
        """The upstream has accepted the request."""
        await self._change(lambda state, now: policy.opened(state, self._limits, self._lease, headroom, now))

    async def refused(self, retry_after: float | None) -> None:
        """The upstream has too much to do: give the place back, and let fewer in."""
        lease = self._lease
        await self._give_back(
            lambda state, now: policy.refused(state, self._limits, lease, retry_after, now, self._tokens)
        )

    async def settle(self, *, is_success: bool, tokens: float | None = None) -> None:
        """Give the place back, with what it took in the end. Without a place, or twice, is no error."""
        lease, over = self._lease, 0.0 if tokens is None else tokens - self._tokens
        await self._give_back(
            lambda state, now: policy.settled(
                state, self._limits, lease, is_success=is_success, tokens_over=over, now=now
            )
        )

    def wake(self) -> None:
        """From any thread."""
        try:
            self._loop.call_soon_threadsafe(self._woken.set)
        except RuntimeError:  # its loop is closed, and with it went whoever waited
            self._line.leave(self)

    async def _try(self) -> float:
        request = policy.Request(
            lease=uuid4().hex,
            priority=self.priority,
            tokens=self._tokens,
            process=self._gate.id,
            since=self.rank[0],
            next_since=self._line.next_since(self),
            lease_seconds=self._store.lease_seconds,
        )
        self._lease = request.lease  # already now, so that whoever is cancelled meanwhile gives it back
        try:
            delay = await self._store.change(
                self._limits.key, lambda state, now: policy.admit(state, self._limits, request, now)
            )
        except BaseException:
            await self.settle(is_success=False)
            raise
        if delay == 0:
            self._renew_later()
        else:
            self._lease = ""
        return delay

    async def _give_back(self, change: Callable[[policy.State, float], None]) -> None:
        if not self._lease:
            return
        self._lease = ""
        if self._renewal:
            self._renewal.cancel()
        try:
            giving = self._store.change(self._limits.key, change)
            if self._store.is_shared:  # takes a while: to be cancelled once more must not cost the place
                self._task = self._loop.create_task(giving)
                await asyncio.shield(self._task)
            else:
                await giving
        finally:
            self._gate.wake(self._limits.key)

    async def _change(self, change: Callable[[policy.State, float], None]) -> None:
        if self._lease:
            await self._store.change(self._limits.key, change)

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()

    def _renew_later(self) -> None:
        """Where places are shared, a place is held for as long as its process says so."""
        if self._store.is_shared:
            self._renewal = self._loop.call_later(RENEW_EVERY_SECONDS, self._renew_now)

    def _renew_now(self) -> None:
        self._task = self._loop.create_task(self._renew(self._lease))
        self._renew_later()

    async def _renew(self, lease: str) -> None:
        await self._change(lambda state, now: policy.renewed(state, lease, now))
