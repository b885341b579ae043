"""Hundreds of answers at once, most of which go wrong: each ends in a stored state of the right kind, nothing leaks,
and those that go well are untouched."""

import asyncio
import os
import random
import socket
from collections import Counter
from uuid import UUID, uuid4

import pytest

from providers import live
from providers.adapters.base import Limits, Message, Priority, Target, Timeouts
from providers.adapters.http import close_clients
from providers.limits import gate as gate_module
from providers.limits.shared import gate
from providers.live import GenerationRecord
from tests.fakes.chaos import FAULTS, NOBODY, TEXT, Chaos
from tests.waiting import until

STREAMS = 300
GOOD_SHARE = 0.25
SEED = 1
# A busy machine must make nothing late that is not meant to be.
PATIENT = Timeouts(connect=30.0, first_token=30.0, idle=30.0, total=40.0)
IMPATIENT = Timeouts(connect=30.0, first_token=3.0, idle=2.0, total=8.0)


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def target_of(fault: str, chaos: Chaos, key: str) -> Target:
    port = chaos.url.rpartition(":")[2]
    url = {
        "refused": f"http://127.0.0.1:{closed_port()}/v1",
        "no-such-name": "http://no-such-name.invalid/v1",
        "tls": f"https://127.0.0.1:{port}",
    }.get(fault, chaos.url)
    timeouts = IMPATIENT if FAULTS.get(fault) == "timeout" else PATIENT
    return Target("openai", url, fault, timeouts=timeouts, limits=Limits(f"{key}-{fault}", fault))


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


async def test_whatever_goes_wrong_is_stored_and_nothing_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever only hears 429 waits in line for its next try; here not for long.
    monkeypatch.setitem(gate_module.WAIT_MAX_SECONDS, Priority.INTERACTIVE, 8.0)
    rng, key = random.Random(SEED), uuid4().hex
    kinds = FAULTS | NOBODY
    faults = ["good" if rng.random() < GOOD_SHARE else rng.choice(list(kinds)) for _ in range(STREAMS)]
    assert set(faults) == set(kinds)
    records: dict[UUID, GenerationRecord] = {}

    async def save(id: UUID, record: GenerationRecord) -> None:
        records[id] = record

    async with Chaos(SEED) as chaos:
        # The first generation of a process begins what stays, such as its ear for other processes.
        first = uuid4()
        live.start(first, target_of("good", chaos, uuid4().hex), [Message("user", "Hello?")], save)
        await live.wait(first)
        await close_clients()
        await until(lambda: chaos.open == 0)
        tasks, files = asyncio.all_tasks(), descriptors()
        asked = {uuid4(): fault for fault in faults}
        for id, fault in asked.items():
            live.start(id, target_of(fault, chaos, key), [Message("user", "Hello?")], save)
        _, late = await asyncio.wait([asyncio.ensure_future(live.wait(id)) for id in asked], timeout=150)
        assert not late, Counter(fault for id, fault in asked.items() if live.alive([id]))
        await close_clients()
        await until(lambda: chaos.open == 0)
    wrong = Counter(
        (fault, record.status, record.error_kind)
        for id, fault in asked.items()
        if (record := records[id]).error_kind != kinds[fault]
        or record.status != ("failed" if kinds[fault] else "finished")
    )
    assert not wrong
    for id, fault in asked.items():
        if fault in ("good", "trickle"):
            assert records[id].text == TEXT
        if fault == "stall-after":
            assert records[id].text == "It begins, "
        assert records[id].latency_ms is not None
    for fault in kinds:
        held = await gate().store.change(f"{key}-{fault}", lambda state, now: len(state.leases))
        assert (fault, held, gate().waiting(f"{key}-{fault}")) == (fault, 0, 0)
    await until(lambda: asyncio.all_tasks() <= tasks)
    assert not live.alive(asked)
    if not gate().store.is_shared:  # Redis's pool keeps its connections
        await until(lambda: descriptors() <= files + 1)  # the resolver may keep one
