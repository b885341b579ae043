"""The engine room: engines that run, take turns, are waited for and end, with the fake vLLM."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from common.database import in_database_thread
from providers.adapters.base import (
    WAKING,
    ErrorKind,
    Message,
    Opened,
    Priority,
    ProviderError,
    Queued,
    Target,
    TextDelta,
)
from providers.client import stream_answer
from providers.engines import engine_room, sharing, waking
from providers.engines.engine_room import AlreadyRunning, EngineRoom, only_one
from providers.engines.keeper import Keeper
from providers.engines.services import (
    engine_desired_set,
    engine_note,
    engines_delete,
)
from providers.engines.states import Report, State, Wanted
from providers.limits import gate as gate_module
from providers.limits.gate import NoPlace
from providers.limits.shared import gate
from providers.models import Engine, LanguageModel
from providers.selectors import target_for
from tests.factories import engine, model_of
from tests.fakes.scripts import OTHER
from tests.fakes.upstream import Upstream
from tests.providers.fake_engines import listens, ways
from tests.waiting import until

pytestmark = pytest.mark.django_db


def test_two_never_look_after_the_same_engines(tmp_path: Path) -> None:
    with only_one(tmp_path), pytest.raises(AlreadyRunning), only_one(tmp_path):
        pass
    with only_one(tmp_path):
        pass


@pytest.fixture
async def database_thread() -> AsyncIterator[None]:
    """Its connection is closed before the test's database is emptied or dropped."""
    yield
    await in_database_thread(connections.close_all)()


class Running:
    """The engine room on this loop, as `manage.py engines run` has it."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.lines: list[str] = []
        self.room = EngineRoom(ways(folder, **more), self.lines.append)

    async def __aenter__(self) -> "Running":
        self.task = asyncio.create_task(self.room.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.room.stop()
        await self.task

    async def until(self, condition: Callable[[dict[str, str]], bool]) -> None:
        await self.until_rows(lambda rows: condition({row.slug: row.state for row in rows}))

    async def until_rows(self, condition: Callable[[list[Engine]], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition([row async for row in Engine.objects.all()]):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def events(model: LanguageModel) -> tuple[list[int], str]:
    """The places that one who asks is told of, and the answer."""
    places, text = [], ""
    async for event in stream_answer(target_for(model), [Message("user", "Why is the sky blue?")]):
        if isinstance(event, Queued):
            places.append(event.place)
        text += event.text if isinstance(event, TextDelta) else ""
    return places, text


@pytest.mark.usefixtures("database_thread")
@pytest.mark.django_db(transaction=True)
async def test_two_engines_take_turns_on_one_gpu_and_who_asks_waits_for_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "AWAKE_AT_LEAST_SECONDS", 0.0)

    def rows() -> tuple[LanguageModel, LanguageModel]:
        one = engine("one", memory_share=0.6, gpus="0", desired=Wanted.AWAKE)
        two = engine("two", model="drowsy", memory_share=0.6, gpus="0", desired=Wanted.ASLEEP)
        engine_desired_set(engine=one, desired=Wanted.AWAKE)
        return model_of(one), model_of(two)

    one, two = await in_database_thread(rows)()
    async with Running(tmp_path) as running:
        await running.until(lambda states: states == {"one": "ready", "two": "asleep"})
        one, two = await in_database_thread(lambda: (model_of(one.endpoint.engine), model_of(two.endpoint.engine)))()
        assert await events(one) == ([], OTHER)
        assert await events(two) == ([WAKING, 0], OTHER)
        await running.until(lambda states: states == {"one": "asleep", "two": "ready"})
        assert await events(one) == ([WAKING, 0], OTHER)
    assert {row.slug: row.state async for row in Engine.objects.all()} == {"one": "stopped", "two": "stopped"}
    assert any(line.startswith("one: draining") for line in running.lines)


@pytest.mark.usefixtures("database_thread")
@pytest.mark.django_db(transaction=True)
async def test_two_that_take_turns_both_answer_though_to_wake_takes_longer_than_they_stay_awake_at_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """`drowsy` takes a second to wake; who waits for the other asks for it all the while."""
    settings.ENGINE_WAIT_SECONDS = 20
    monkeypatch.setattr(sharing, "AWAKE_AT_LEAST_SECONDS", 0.7)
    monkeypatch.setattr(waking, "LOOK_SECONDS", 0.1)

    def rows() -> list[LanguageModel]:
        alike: dict[str, Any] = {"model": "drowsy", "memory_share": 0.6, "gpus": "0", "desired": Wanted.ASLEEP}
        return [model_of(engine(slug, **alike)) for slug in ("one", "two")]

    models = await in_database_thread(rows)()
    async with Running(tmp_path) as running:
        await running.until(lambda states: set(states.values()) == {"asleep"})
        for model in models:  # loaded once, so that to wake is to ask /wake_up
            assert (await events(model))[1] == OTHER
        found = await asyncio.gather(*map(events, models))
        assert [text for _, text in found] == [OTHER, OTHER]


@pytest.mark.usefixtures("database_thread")
@pytest.mark.django_db(transaction=True)
async def test_one_that_has_just_become_ready_stays_though_its_waking_was_stored_long_ago(tmp_path: Path) -> None:
    def rows() -> list[Engine]:
        for slug in ("woken", "asks"):
            row = engine(slug, memory_share=0.6, gpus="0")
            engine_note(slug=slug, report=Report(State.WAKING if slug == "woken" else State.ASLEEP))
            engine_desired_set(engine=row, desired=Wanted.AWAKE)
        Engine.objects.update(state_since=timezone.now() - timedelta(minutes=1))
        return list(Engine.objects.all())

    found = await in_database_thread(rows)()
    room = EngineRoom(ways(tmp_path), print)
    for row in found:
        room.keepers[row.slug] = Keeper(row.spec, room.ways, Mock(), lambda report: None)
    room.keepers["woken"].now = Report(State.WAKING)
    room.keepers["woken"]._say(State.READY)
    await room._follow(found)
    assert {slug: keeper.wanted for slug, keeper in room.keepers.items()} == {
        "woken": Wanted.AWAKE, "asks": Wanted.ASLEEP
    }  # fmt: skip


@pytest.mark.usefixtures("database_thread")
@pytest.mark.django_db(transaction=True)
async def test_who_waits_for_an_engine_that_cannot_wake_is_told_so(tmp_path: Path, settings: Settings) -> None:
    broken = await in_database_thread(lambda: engine("broken", model="oom", desired=Wanted.ASLEEP))()
    async with Running(tmp_path) as running:
        await running.until(lambda states: states == {"broken": "asleep"})
        model = await in_database_thread(model_of)(broken)
        with pytest.raises(ProviderError, match="The GPU's memory did not suffice") as failed:
            await events(model)
        assert failed.value.kind is ErrorKind.CONNECTION
    settings.ENGINE_WAIT_SECONDS = 0.1
    await in_database_thread(engine_note)(slug="broken", report=Report(State.WAKING))
    with pytest.raises(ProviderError, match="did not wake within") as late:
        await events(model)
    assert late.value.kind is ErrorKind.TIMEOUT


@pytest.mark.usefixtures("database_thread")
@pytest.mark.django_db(transaction=True)
async def test_who_gets_a_place_at_an_engine_that_has_gone_to_sleep_waits_until_it_wakes(
    upstream: Upstream, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ready() -> Target:
        row = engine(port=int(upstream.url.split(":")[2].split("/")[0]))
        engine_note(slug="small", report=Report(State.READY))
        found = target_for(model_of(row))
        return replace(found, upstream_id="steady", limits=replace(found.limits, key=uuid4().hex, streams=1))

    monkeypatch.setattr(waking, "LOOK_SECONDS", 0.05)
    target, note = await in_database_thread(ready)(), in_database_thread(engine_note)
    prompt = [Message("user", "Why?")]
    first, second = stream_answer(target, prompt), stream_answer(target, prompt)
    assert isinstance(await anext(first), Opened)
    assert await anext(second) == Queued(1)
    await note(slug="small", report=Report(State.DRAINING))
    await first.aclose()
    assert await anext(second) == Queued(WAKING)
    assert len(upstream.requests) == 1, "one that drains is not asked for more"
    assert await gate().store.change(target.limits.key, lambda state, now: len(state.leases)) == 0
    await note(slug="small", report=Report(State.READY))
    assert await anext(second) == Queued(0)
    assert isinstance(await anext(second), Opened)

    third = stream_answer(target, prompt)
    assert await anext(third) == Queued(1)
    await note(slug="small", report=Report(State.DRAINING))
    await second.aclose()
    assert await anext(third) == Queued(WAKING)
    monkeypatch.setitem(gate_module.WAIT_MAX_SECONDS, Priority.INTERACTIVE, 0.0)
    await note(slug="small", report=Report(State.READY))
    async with aclosing(stream_answer(target, prompt)) as other:
        assert isinstance(await anext(other), Opened)
        with pytest.raises(NoPlace):  # so the patience with the line counts from when it was awake
            await anext(third)
    monkeypatch.setitem(gate_module.WAIT_MAX_SECONDS, Priority.INTERACTIVE, 120.0)

    settings.ENGINE_WAIT_SECONDS = 0.2
    first, second = stream_answer(target, prompt), stream_answer(target, prompt)
    await anext(first)
    assert await anext(second) == Queued(1)
    await note(slug="small", report=Report(State.WAKING))
    await first.aclose()
    assert await anext(second) == Queued(WAKING)
    with pytest.raises(ProviderError, match="did not wake within"):  # and is not waited for again
        await anext(second)
    assert len(upstream.requests) == 4


@pytest.mark.usefixtures("database_thread")
@pytest.mark.django_db(transaction=True)
async def test_one_that_has_nothing_to_say_for_a_long_time_is_not_called_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_room, "TOLD_AT_LEAST_EVERY_SECONDS", 0.2)
    await in_database_thread(lambda: engine("broken", model="oom"))()
    async with Running(tmp_path, first_delay_seconds=600) as running:
        await running.until(lambda states: states == {"broken": "failed"})
        await Engine.objects.aupdate(seen_at=timezone.now() - timedelta(minutes=1))
        await running.until_rows(lambda rows: rows[0].is_watched)
        assert (await Engine.objects.aget()).why.startswith("The GPU's memory did not suffice")


@pytest.mark.usefixtures("database_thread")
@pytest.mark.django_db(transaction=True)
async def test_one_that_waits_for_another_on_its_gpu_to_start_says_that_it_starts(tmp_path: Path) -> None:
    await in_database_thread(lambda: engine(memory_share=0.3, gpus="0"))()
    running = Running(tmp_path)
    async with running.room.gpus[0], running:
        await running.until(lambda states: states == {"small": "starting"})
        assert not running.room.keepers["small"]._process.is_running()


@pytest.mark.usefixtures("database_thread")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", ["edit", "delete"])
async def test_one_that_is_edited_or_deleted_finishes_what_it_answers(tmp_path: Path, change: str) -> None:
    row = await in_database_thread(lambda: engine("small", model="slow"))()
    model = await in_database_thread(model_of)(row)
    async with Running(tmp_path) as running:
        await running.until(lambda states: states == {"small": "ready"})
        keeper = running.room.keepers["small"]
        answer = asyncio.create_task(events(model))
        async with asyncio.timeout(30):
            while not keeper.now.running:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        if change == "edit":
            await Engine.objects.aupdate(context=2048)
        else:
            await in_database_thread(engines_delete)(engines=Engine.objects.all())
        assert (await answer)[1] == OTHER
        if change == "edit":
            await running.until(lambda states: "small: stopped" in running.lines and states == {"small": "ready"})
            assert running.room.keepers["small"].spec.context == 2048
        else:
            await until(lambda: not running.room.keepers)
            assert not listens(row.port)
