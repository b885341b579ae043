"""Engines in the database: their endpoint, what the admin and the API show, and who waits for one that sleeps."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from pytest_django.asserts import assertNumQueries  # type: ignore[attr-defined]

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
    engine_endpoint_sync,
    engine_note,
    engine_wake,
    engines_delete,
    engines_put_to_sleep,
    engines_unseen_note,
)
from providers.engines.states import Report, State, Wanted
from providers.limits import gate as gate_module
from providers.limits.gate import NoPlace
from providers.limits.shared import gate
from providers.models import Engine, LanguageModel
from providers.selectors import target_for
from tests import factories
from tests.fakes.scripts import OTHER
from tests.fakes.upstream import Upstream
from tests.providers.fake_engines import free_port, listens, ways
from tests.waiting import until

pytestmark = pytest.mark.django_db


def engine(slug: str = "small", **fields: Any) -> Engine:
    row = Engine.objects.create(**{"slug": slug, "model": "plain", "port": free_port()} | fields)
    engine_endpoint_sync(engine=row)
    return row


def model_of(row: Engine) -> LanguageModel:
    return LanguageModel.objects.select_related("endpoint").get(endpoint__engine=row)


def test_a_new_engine_gets_its_endpoint_and_its_model_once() -> None:
    row = engine(model="/models/Qwen--Qwen2.5-7B", context=4096)
    model = model_of(row)
    assert (model.name, model.upstream_id, model.context_window) == ("Qwen2.5-7B", "small", 4096)
    assert model.endpoint
    assert model.endpoint.base_url == f"http://127.0.0.1:{row.port}/v1"
    assert not model.is_available, "it was never up"
    row.port = free_port()
    row.save()
    engine_endpoint_sync(engine=row)
    assert model_of(row).endpoint.base_url.endswith(f":{row.port}/v1")  # type: ignore[union-attr]
    assert LanguageModel.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"extra_arguments": "--max-num-seqs 64"}, "extra_arguments"),
        ({"extra_arguments": ["--max-num-seqs", 64]}, "extra_arguments"),
        ({"extra_arguments": ["--host=0.0.0.0"]}, "extra_arguments"),
        ({"model": "--trust-remote-code"}, "model"),
        ({"revision": "-x"}, "revision"),
        ({"gpus": "0;1"}, "gpus"),
        ({"gpus": "0", "tensor_parallel": 2}, "tensor_parallel"),
        ({"memory_share": 1.5}, "memory_share"),
        ({"port": 80}, "port"),
        ({"host": "a b"}, "host"),
    ],
)
def test_what_could_be_read_as_more_than_it_says_is_refused(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Engine(**{"slug": "a", "model": "plain", "port": 9000} | fields).full_clean()
    assert set(refused.value.message_dict) == {where}


def test_a_model_whose_engine_is_back_rests_no_longer() -> None:
    model = model_of(engine())
    until = timezone.now() + timedelta(minutes=2)
    LanguageModel.objects.filter(pk=model.pk).update(failures_in_row=5, resting_until=until)
    engine_note(slug="small", report=Report(State.STARTING))
    model.refresh_from_db()
    assert model.resting_until
    engine_note(slug="small", report=Report(State.READY))
    model.refresh_from_db()
    assert (model.failures_in_row, model.resting_until) == (0, None)
    # Ready as before: what fails now is the model's own.
    LanguageModel.objects.filter(pk=model.pk).update(failures_in_row=2)
    engine_note(slug="small", report=Report(State.READY, running=1))
    model.refresh_from_db()
    assert model.failures_in_row == 2


def test_a_state_that_is_noted_decides_who_is_drawn(settings: Settings) -> None:
    row = engine()
    for state, policy, is_drawn in [
        (State.STARTING, "wait", False),
        (State.READY, "wait", True),
        (State.ASLEEP, "wait", True),
        (State.ASLEEP, "another", False),
        (State.READY, "another", True),
        (State.FAILED, "wait", False),
    ]:
        settings.ENGINE_ASLEEP = policy
        engine_note(slug="small", report=Report(state, "because", cache_tokens=5))
        model = model_of(row)
        assert model.is_available is is_drawn, (state, policy)
        assert LanguageModel.objects.available().filter(pk=model.pk).exists() is is_drawn
    settings.ENGINE_ASLEEP = "another"
    engine_note(slug="small", report=Report(State.ASLEEP))
    assert model_of(row).away_because == "Its engine sleeps."
    row.refresh_from_db()
    assert (row.state, row.cache_tokens, row.is_watched) == ("asleep", None, True)


def test_to_ask_wakes_only_what_sleeps_and_only_once() -> None:
    row = engine(desired=Wanted.ASLEEP)
    engine_note(slug="small", report=Report(State.DRAINING))
    assert engine_wake(endpoint_slug="small") == (State.DRAINING, "")
    assert Engine.objects.get().desired == Wanted.ASLEEP, "another needs its memory now"
    engine_note(slug="small", report=Report(State.ASLEEP))
    assert engine_wake(endpoint_slug="small")[0] is State.ASLEEP
    at = Engine.objects.get().wanted_at
    assert Engine.objects.get().desired == Wanted.AWAKE
    engine_wake(endpoint_slug="small")
    assert Engine.objects.get().wanted_at == at
    assert engine_wake(endpoint_slug="nobody") == (None, "")
    Engine.objects.filter(pk=row.pk).update(seen_at=timezone.now() - timedelta(minutes=5))
    assert engine_wake(endpoint_slug="small")[0] is State.FAILED, "nobody is there who could wake it"


def test_one_that_was_asked_again_meanwhile_is_not_put_to_sleep() -> None:
    row = engine()
    read_at = row.wanted_at
    engine_desired_set(engine=row, desired=Wanted.AWAKE)
    engines_put_to_sleep(asked={"small": read_at})
    assert Engine.objects.get().desired == Wanted.AWAKE
    engines_put_to_sleep(asked={"small": Engine.objects.get().wanted_at})
    assert Engine.objects.get().desired == Wanted.ASLEEP


def test_when_the_one_who_looks_after_them_dies_nothing_says_ready_any_more() -> None:
    for slug, state in (("ready", State.READY), ("asleep", State.ASLEEP), ("off", State.STOPPED)):
        engine(slug)
        engine_note(slug=slug, report=Report(state, running=3))
    assert engines_unseen_note() == 0
    Engine.objects.update(seen_at=timezone.now() - timedelta(minutes=1))
    assert engines_unseen_note() == 2
    assert engines_unseen_note() == 0
    states = {row.slug: (row.state, row.running) for row in Engine.objects.all()}
    assert states == {"ready": ("unreachable", 0), "asleep": ("unreachable", 0), "off": ("stopped", 3)}
    assert "engines run" in Engine.objects.get(slug="ready").reason
    assert not LanguageModel.objects.available().exists()
    engine_note(slug="ready", report=Report(State.READY))
    assert LanguageModel.objects.available().get().slug == "ready"


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(factories.staff())
    return client


def test_the_admin_shows_states_reasons_and_the_log_and_takes_orders(operator: Client) -> None:
    form = {"slug": "tiny", "model": "plain", "port": 9000, "host": "127.0.0.1", "desired": "stopped", "sleep_level": 1,
            "dtype": "auto", "tensor_parallel": 1, "extra_arguments": '["--max-num-seqs", "8"]'}  # fmt: skip
    answer = operator.post("/admin/providers/engine/add/", form)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    row = Engine.objects.get()
    assert model_of(row).upstream_id == "tiny"
    engine_note(slug="tiny", report=Report(State.FAILED, "The disk is full.", log_tail="<b>OSError</b> [Errno 28]"))
    page = operator.get(f"/admin/providers/engine/{row.pk}/change/").content.decode()
    assert "The disk is full." in page
    assert "&lt;b&gt;OSError" in page
    assert "<b>OSError" not in page
    for number in range(3):
        engine(f"more-{number}")
    with assertNumQueries(5):
        assert "The disk is full." in operator.get("/admin/providers/engine/").content.decode()
    for action, desired in (("wake", "awake"), ("sleep", "asleep"), ("stop", "stopped")):
        operator.post("/admin/providers/engine/", {"action": action, "_selected_action": [row.pk]})
        row.refresh_from_db()
        assert row.desired == desired


def test_the_api_shows_engines_to_staff_and_takes_what_is_wanted(client: Client) -> None:
    engine(extra_arguments=["--secret-thing"])
    engine_note(slug="small", report=Report(State.READY, running=2, cache_used=0.5, cache_tokens=46_592))
    _, key = factories.api_key()
    headers = {"Authorization": f"Bearer {key}"}
    answer = client.get("/api/v1/engines/", headers=headers)
    (row,) = answer.json()["results"] if isinstance(answer.json(), dict) else answer.json()
    assert {
        "slug": "small",
        "state": "ready",
        "running": 2,
        "cache_tokens": 46_592,
        "is_watched": True,
    }.items() <= row.items()
    assert "--secret-thing" not in answer.content.decode()
    want = {"content_type": "application/json", "headers": headers}
    assert client.patch("/api/v1/engines/small/", {"desired": "asleep"}, **want).json()["desired"] == "asleep"
    assert Engine.objects.get().desired == "asleep"
    assert client.patch("/api/v1/engines/small/", {"desired": "dancing"}, **want).status_code == 400
    assert client.patch("/api/v1/engines/none/", {"desired": "asleep"}, **want).status_code == 404
    _, weak = factories.api_key(factories.user(), scopes=["read", "run"])
    assert client.get("/api/v1/engines/", headers={"Authorization": f"Bearer {weak}"}).status_code == 403


def test_the_commands_show_and_order(capsys: pytest.CaptureFixture[str]) -> None:
    engine()
    call_command("engines", "sleep", "small")
    assert Engine.objects.get().desired == "asleep"
    out = StringIO()
    call_command("engines", "list", stdout=out)
    assert "small" in out.getvalue()
    with pytest.raises(CommandError, match="There is no engine other"):
        call_command("engines", "wake", "other")


def test_an_engine_is_made_from_a_terminal_here_or_on_another_machine(settings: Settings, tmp_path: Path) -> None:
    settings.MODELS = tmp_path
    (tmp_path / "org--tiny").mkdir()
    out = StringIO()
    call_command("engines", "add", "here", "org/tiny", "--port", "8101", "--revision", "abc123", stdout=out)
    call_command("engines", "add", "there", "org/tiny", "--port", "8101", "--host", "gpu.example.org", stdout=out)
    here, there = Engine.objects.order_by("slug")
    assert (here.model, here.revision, here.spec.is_ours) == (str(tmp_path / "org--tiny"), "abc123", True)
    assert (there.model, there.spec.url, there.spec.is_ours) == ("org/tiny", "http://gpu.example.org:8101", False)
    assert "run watches it" in out.getvalue()
    with pytest.raises(CommandError, match="already exists"):
        call_command("engines", "add", "again", "org/tiny", "--port", "8101")


def test_an_engine_of_ours_may_be_asked_whatever_the_rule_and_its_address_is_its_own(
    operator: Client, settings: Settings
) -> None:
    settings.PRIVATE_ENDPOINTS = "forbid"
    row = engine()
    engine_note(slug="small", report=Report(State.READY))
    model = model_of(row)
    assert model.endpoint
    assert target_for(model).addresses == "allow"
    page = operator.get(f"/admin/providers/endpoint/{model.endpoint.pk}/change/").content.decode()
    assert 'name="slug"' in page
    assert 'name="base_url"' not in page
    operator.post(
        "/admin/providers/engine/", {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    )
    assert not Engine.objects.exists()
    model = LanguageModel.objects.select_related("endpoint").get()
    assert target_for(model).addresses == "forbid"
    assert not model.is_available


def test_what_holds_an_endpoints_key_is_gone_before_an_engine_could_inherit_it(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.VAR = tmp_path
    factories.endpoint(api_key_variable="ACME_ACCESS")
    factories.endpoint(api_key_variable="HF_TOKEN")
    seen: dict[str, str] = {}
    monkeypatch.setattr(engine_room, "run", lambda ways: seen.update(os.environ))
    for name in ("ACME_ACCESS", "HF_TOKEN", "OTHER"):
        monkeypatch.setenv(name, "value")
    call_command("engines", "run")
    assert "ACME_ACCESS" not in seen
    assert {"HF_TOKEN", "OTHER"} <= set(seen)


def test_two_never_look_after_the_same_engines(tmp_path: Path) -> None:
    with only_one(tmp_path), pytest.raises(AlreadyRunning), only_one(tmp_path):
        pass
    with only_one(tmp_path):
        pass


# --- with engines that run ---


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
