"""The line in front of an endpoint: who comes first, who gives up, and that no place is ever lost."""

import asyncio
import subprocess
import sys
import threading
from contextlib import aclosing
from typing import TypeVar
from uuid import uuid4

import pytest
import redis
from django.conf import settings

from providers.adapters.base import ErrorKind, Headroom, Limits, Priority
from providers.limits import gate as gate_module
from providers.limits.gate import Gate, NoPlace, Ticket
from providers.limits.redis_store import RedisStore
from providers.limits.stores import Change, MemoryStore, Store
from tests.waiting import until

PERSON, BATCH = Priority.INTERACTIVE, Priority.BATCH
T = TypeVar("T")
REDIS_URL: str = settings.REDIS_URL  # this worker's own: others empty theirs after each test


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> Store:
    if request.param == "memory":
        return MemoryStore()
    if not REDIS_URL:
        pytest.skip("REDIS_URL is not set")
    return RedisStore(REDIS_URL)


@pytest.fixture
def limits() -> Limits:
    return Limits(uuid4().hex, streams=1)


async def leases(store: Store, limits: Limits) -> int:
    return await store.change(limits.key, lambda state, now: len(state.leases))


async def enter(ticket: Ticket, places: list[int] | None = None) -> Ticket:
    async with aclosing(ticket.wait()) as line:
        async for place in line:
            if places is not None:
                places.append(place)
    return ticket


async def test_where_there_is_room_nobody_waits(store: Store, limits: Limits) -> None:
    places: list[int] = []
    ticket = await enter(Gate(store).ticket(limits, PERSON), places)
    assert places == []
    assert await leases(store, limits) == 1
    await ticket.settle(is_success=True)
    assert await leases(store, limits) == 0


async def test_an_endpoint_without_a_name_has_no_limits() -> None:
    await enter(Gate().ticket(Limits(streams=1), PERSON))
    await enter(Gate().ticket(Limits(streams=1), PERSON))


async def test_first_come_first_served_and_everybody_sees_their_place(store: Store, limits: Limits) -> None:
    gate, done = Gate(store), []
    first = await enter(gate.ticket(limits, PERSON))
    seen: list[list[int]] = [[], [], []]

    async def one(number: int) -> None:
        ticket = await enter(gate.ticket(limits, PERSON), seen[number])
        done.append(number)
        await ticket.settle(is_success=True)

    tasks = []
    for number in range(3):
        tasks.append(asyncio.create_task(one(number)))
        await until(lambda n=number: gate.waiting(limits.key) == n + 1)  # type: ignore[misc]
    await first.settle(is_success=True)
    await asyncio.gather(*tasks)
    assert done == [0, 1, 2]
    assert [places[0] for places in seen] == [1, 2, 3]


async def test_people_go_before_batches_that_came_first(limits: Limits) -> None:
    gate, done = Gate(), []
    first = await enter(gate.ticket(limits, PERSON))

    async def one(priority: Priority) -> None:
        ticket = await enter(gate.ticket(limits, priority))
        done.append(priority)
        await ticket.settle(is_success=True)

    batch = asyncio.create_task(one(BATCH))
    await until(lambda: gate.waiting(limits.key) == 1)
    person = asyncio.create_task(one(PERSON))
    await until(lambda: gate.waiting(limits.key) == 2)
    await first.settle(is_success=True)
    await asyncio.gather(batch, person)
    assert done == [PERSON, BATCH]


async def test_processes_share_the_places_fairly(store: Store, limits: Limits) -> None:
    """Two gates on one store are what two processes are. Nobody who came late overtakes all of the other's line."""
    here, there, done = Gate(store), Gate(store), []

    async def one(gate: Gate, name: str) -> None:
        ticket = await enter(gate.ticket(limits, PERSON))
        done.append(name)
        await asyncio.sleep(0.02)
        await ticket.settle(is_success=True)

    early = [asyncio.create_task(one(here, "early")) for _ in range(5)]
    await until(lambda: here.waiting(limits.key) == 4)
    late = there.ticket(limits, PERSON)
    late.rank = (late.rank[0] + 60, late.rank[1])
    entering = asyncio.create_task(enter(late))
    await asyncio.gather(*early)
    assert done == ["early"] * 5
    await (await entering).settle(is_success=True)


async def test_whoever_was_refused_stands_where_they_stood(limits: Limits) -> None:
    gate, done = Gate(), []
    first = await enter(gate.ticket(limits, PERSON))
    second = asyncio.create_task(enter(gate.ticket(limits, PERSON)))
    await until(lambda: gate.waiting(limits.key) == 1)
    await first.refused(0.1)
    again = asyncio.create_task(enter(first))
    for task in asyncio.as_completed([again, second]):
        ticket = await task
        done.append(ticket)
        await ticket.settle(is_success=True)
    assert done == [first, second.result()]


async def test_who_is_cancelled_while_the_store_decides_leaves_no_place_behind(limits: Limits) -> None:
    class Slow(MemoryStore):
        is_shared = True

        async def change(self, key: str, change: Change[T]) -> T:
            result = await super().change(key, change)
            decided.set()
            await asyncio.sleep(0.01)
            return result

    decided, store = asyncio.Event(), Slow()
    entering = asyncio.create_task(enter(Gate(store).ticket(limits, PERSON)))
    await decided.wait()
    entering.cancel()
    await asyncio.gather(entering, return_exceptions=True)
    assert await leases(store, limits) == 0


async def test_whoever_gives_up_leaves_the_line_and_no_place_behind(store: Store, limits: Limits) -> None:
    gate = Gate(store)
    first = await enter(gate.ticket(limits, PERSON))
    waiting = asyncio.create_task(enter(gate.ticket(limits, PERSON)))
    await until(lambda: gate.waiting(limits.key) == 1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert gate.waiting(limits.key) == 0
    await first.settle(is_success=True)
    assert await leases(store, limits) == 0


async def test_whoever_is_stopped_at_any_step_is_stopped(store: Store, limits: Limits) -> None:
    """Also at the one moment at which the client for Redis loses a cancellation."""
    gate = Gate(store)
    for steps in range(40):
        entering = asyncio.create_task(enter(gate.ticket(limits, PERSON)))
        for _ in range(steps):
            await asyncio.sleep(0)
        if entering.cancel():
            await asyncio.gather(entering, return_exceptions=True)
            assert entering.cancelled(), f"after {steps} steps"
        else:
            await entering.result().settle(is_success=True)
        assert await leases(store, limits) == 0


async def test_a_line_that_is_too_long_says_so(limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "LINE_MAX", 0)
    gate = Gate()
    await enter(gate.ticket(limits, PERSON))
    with pytest.raises(NoPlace, match="more than 0 requests wait") as caught:
        await enter(gate.ticket(limits, PERSON))
    assert caught.value.kind is ErrorKind.RATE_LIMIT


async def test_a_line_that_does_not_move_says_so(limits: Limits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gate_module.WAIT_MAX_SECONDS, PERSON, 0.05)
    gate = Gate()
    await enter(gate.ticket(limits, PERSON))
    with pytest.raises(NoPlace, match="no place becomes free in time"):
        await enter(gate.ticket(limits, PERSON))
    assert gate.waiting(limits.key) == 0


async def test_a_refused_request_gives_its_place_back(store: Store, limits: Limits) -> None:
    ticket = await enter(Gate(store).ticket(limits, PERSON))
    await ticket.refused(5.0)
    assert await leases(store, limits) == 0
    blocked = await store.change(limits.key, lambda state, now: state.window("").blocked_until - now)
    assert blocked == pytest.approx(5.0, abs=0.5)
    await ticket.settle(is_success=True)  # twice is no error


def test_threads_with_loops_of_their_own_share_a_limit(limits: Limits) -> None:
    gate, inside, most, done = Gate(), [0], [0], []

    async def work() -> None:
        for _ in range(10):
            ticket = await enter(gate.ticket(limits, BATCH))
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            await asyncio.sleep(0.001)
            inside[0] -= 1
            await ticket.opened(Headroom())
            await ticket.settle(is_success=True)
        done.append(1)

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (len(done), most[0]) == (4, 1)


@pytest.mark.skipif(not REDIS_URL, reason="several processes need Redis: REDIS_URL is not set")
def test_processes_share_a_limit(limits: Limits) -> None:
    """Two processes take and give back places at once; each notes in Redis how many it saw inside."""
    program = f"""
import asyncio
from contextlib import aclosing
import redis
from providers.adapters.base import Headroom, Limits, Priority
from providers.limits.gate import Gate
from providers.limits.redis_store import RedisStore
counter = redis.Redis.from_url({REDIS_URL!r})
async def work(gate):
    for _ in range(10):
        ticket = gate.ticket(Limits({limits.key!r}, streams=2), Priority.BATCH)
        async with aclosing(ticket.wait()) as line:
            async for _ in line: pass
        counter.rpush({limits.key + "-seen"!r}, counter.incr({limits.key + "-inside"!r}))
        await asyncio.sleep(0.005)
        counter.decr({limits.key + "-inside"!r})
        await ticket.settle(is_success=True)
async def main():
    gate = Gate(RedisStore({REDIS_URL!r}))
    await asyncio.gather(work(gate), work(gate))
asyncio.run(main())
"""
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    counter = redis.Redis.from_url(REDIS_URL)
    seen = [int(value) for value in counter.lrange(f"{limits.key}-seen", 0, -1)]  # type: ignore[union-attr]
    assert len(seen) == 40
    assert max(seen) == 2


@pytest.mark.skipif(not REDIS_URL, reason="REDIS_URL is not set")
async def test_a_state_that_another_version_wrote_is_begun_anew(limits: Limits) -> None:
    redis.Redis.from_url(REDIS_URL).set(f"tourney:limits:{limits.key}", b'{"leases": 5}', ex=60)
    store = RedisStore(REDIS_URL)
    await enter(Gate(store).ticket(limits, PERSON))
    assert await leases(store, limits) == 1


async def test_without_redis_each_process_decides_for_itself(limits: Limits, caplog: pytest.LogCaptureFixture) -> None:
    gate = Gate(RedisStore("redis://127.0.0.1:9/0"))
    ticket = await enter(gate.ticket(limits, PERSON))
    assert "not shared while Redis is away" in caplog.text
    await ticket.settle(is_success=True)
