"""One answer while it is written: who looks on sees all of it once, and whatever happens it ends with a record."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID, uuid4

import pytest

from common.markdown import BlockStream, render
from providers import live, live_generation
from providers.adapters.base import Limits, Message, Target, Timeouts
from providers.live import Block, Delta, Ended, GenerationRecord, LiveView, Reasoning, Update
from tests.fakes import scripts
from tests.fakes.upstream import Upstream
from tests.waiting import until

# Wide enough for a busy machine; a test that waits for a timeout to run out takes the short ones.
PATIENT, IMPATIENT = Timeouts(10, 10, 10, 30), Timeouts(10, 2, 0.5, 30)


class Saves:
    """Keeps what is saved; the first `failures` times it fails."""

    def __init__(self, failures: int = 0) -> None:
        self.records: list[GenerationRecord] = []
        self.failures = failures
        self.tries = 0

    async def __call__(self, id: UUID, record: GenerationRecord) -> None:
        await asyncio.sleep(0)
        self.tries += 1
        if self.tries <= self.failures:
            raise OSError("the database is away")
        self.records.append(record)

    @property
    def last(self) -> GenerationRecord:
        return self.records[-1]


class Screen:
    """A viewer as a browser is: finished blocks, the open text behind them, and an end."""

    def __init__(self) -> None:
        self.html = self.tail = self.reasoning = ""
        self.is_set = False
        self.ended: Ended | None = None
        self.updates: list[Update] = []

    def show(self, view: LiveView | None) -> None:
        assert view is not None
        assert not self.updates, "an update came before the view"
        self.html, self.tail, self.reasoning = view.html, view.tail, view.reasoning

    def __call__(self, update: Update) -> None:
        assert self.ended is None, "an update came after the end"
        self.updates.append(update)
        match update:
            case Delta():
                self.tail += update.text
            case Reasoning():
                self.reasoning += update.text
            case Block():
                self.html += update.html
                self.tail = update.tail
            case Ended():
                self.ended = update


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_generation, "SAVE_AGAIN_SECONDS", 0.001)
    monkeypatch.setattr(live_generation, "COALESCE_SECONDS", 0.005)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert not live._here


def start(upstream: Upstream, model: str, saves: Saves, **changes: object) -> UUID:
    id = uuid4()
    target = Target("openai", upstream.url, model, timeouts=PATIENT)
    live.start(id, replace(target, **changes), [Message("user", "Why?")], saves)  # type: ignore[arg-type]
    return id


async def done(id: UUID) -> None:
    async with asyncio.timeout(30):
        await live.wait(id)
    await until(lambda: not live.alive([id]), seconds=30)  # over Redis this takes a moment


# --- Looking on ---


@pytest.mark.parametrize(
    ("model", "text"), [("steady", scripts.STEADY), ("bytes", scripts.BYTES), ("hostile", scripts.HOSTILE)]
)
async def test_whoever_comes_whenever_sees_all_of_it_once(upstream: Upstream, model: str, text: str) -> None:
    saves, screens = Saves(), []
    id = start(upstream, model, saves)

    async def come(after: float) -> None:
        await asyncio.sleep(after)
        screen = Screen()
        if view := await live.attach(id, screen):
            screen.show(view)
            screens.append(screen)

    await asyncio.gather(*(come(i * 0.013) for i in range(20)))
    await done(id)
    assert screens
    for screen in screens:
        assert screen.ended is not None
        assert screen.ended.html == render(text)
        assert screen.ended.html.startswith(screen.html)
        assert text.replace("\r", "").endswith(screen.tail)
        assert screen.ended.record.text == text
    assert saves.last.text == text


async def test_the_pieces_add_up_to_the_text(upstream: Upstream) -> None:
    screen = Screen()
    id = start(upstream, "thinker", Saves())
    screen.show(await live.attach(id, screen))
    await done(id)
    assert screen.tail == scripts.PLAIN
    assert screen.reasoning == "Let me think. Blue light is scattered more."


async def test_a_view_says_whether_anything_has_come(upstream: Upstream) -> None:
    id = start(upstream, "slow", Saves())
    first = await live.attach(id, Screen())
    assert first is not None
    assert first.status == "waiting"
    screen = Screen()
    await live.attach(id, screen)
    await until(lambda: bool(screen.updates))
    second = await live.attach(id, Screen())
    assert second is not None
    assert second.status == "streaming"
    assert second.text == second.tail != ""
    await live.stop(id)
    await done(id)


async def test_whoever_leaves_hears_nothing_more_and_costs_nothing(upstream: Upstream) -> None:
    leaver, saves = Screen(), Saves()
    id = start(upstream, "steady", saves)
    leaver.show(await live.attach(id, leaver))
    await until(lambda: len(leaver.updates) > 2)
    await live.detach(id, leaver)
    count = len(leaver.updates)
    await done(id)
    assert len(leaver.updates) == count
    assert saves.last.text == scripts.STEADY


async def test_an_answer_needs_no_viewer(upstream: Upstream) -> None:
    saves = Saves()
    await done(start(upstream, "other", saves))
    assert saves.last.status == "finished"


async def test_a_broken_viewer_harms_nobody(upstream: Upstream, caplog: pytest.LogCaptureFixture) -> None:
    def broken(update: Update) -> None:
        raise RuntimeError("my tab is on fire")

    screen, saves = Screen(), Saves()
    id = start(upstream, "other", saves)
    await live.attach(id, broken)
    screen.show(await live.attach(id, screen))
    await done(id)
    assert screen.ended is not None
    assert saves.last.text == scripts.OTHER
    assert caplog.text.count("RuntimeError: my tab is on fire") == 1


async def test_nobody_writes_an_unknown_one() -> None:
    id = uuid4()
    assert await live.attach(id, Screen()) is None
    assert await live.stop(id) is False
    await live.detach(id, Screen())
    await live.wait(id)
    assert live.alive([id]) == set()


async def test_what_has_ended_cannot_be_looked_at(upstream: Upstream) -> None:
    id = start(upstream, "other", Saves())
    assert live.alive([id, uuid4()]) == {id}
    latecomers: list[asyncio.Task[LiveView | None]] = []

    def viewer(update: Update) -> None:
        if isinstance(update, Ended):
            latecomers.append(asyncio.create_task(live.attach(id, Screen())))

    await live.attach(id, viewer)
    await done(id)
    assert await latecomers[0] is None


# --- Every end is a record ---


async def test_a_finished_answer_has_its_figures(upstream: Upstream) -> None:
    saves, screen = Saves(), Screen()
    id = start(upstream, "thinker", saves, input_price=2.0, output_price=10.0)
    screen.show(await live.attach(id, screen))
    await done(id)
    record = saves.last
    assert (record.status, record.finish_reason, record.error_kind) == ("finished", "stop", "")
    assert record.input_tokens == 9
    assert record.output_tokens == 17
    assert record.cost == Decimal("0.000188")
    assert record.first_token_ms is not None
    assert record.latency_ms is not None
    assert record.first_token_ms < record.latency_ms
    assert record.started_at is not None
    assert record.finished_at is not None
    assert screen.ended == Ended(id, render(scripts.PLAIN), record)


async def test_a_stopped_answer_keeps_its_text(upstream: Upstream) -> None:
    saves, screen = Saves(), Screen()
    id = start(upstream, "slow", saves)
    screen.show(await live.attach(id, screen))
    await until(lambda: len(screen.updates) > 3)
    assert await live.stop(id) is True
    await done(id)
    assert saves.last.status == "stopped"
    assert scripts.OTHER.startswith(saves.last.text)
    assert saves.last.text
    assert screen.ended is not None
    assert screen.ended.record == saves.last


async def test_an_answer_that_is_stopped_before_it_began_ends_all_the_same(upstream: Upstream) -> None:
    saves, screen = Saves(), Screen()
    id = start(upstream, "slow", saves)
    screen.show(await live.attach(id, screen))
    await live.stop(id)
    await live.stop(id)
    await done(id)
    assert saves.last.status == "stopped"
    assert screen.ended is not None


async def test_stopping_twice_loses_nothing(upstream: Upstream) -> None:
    saves, screen = Saves(failures=2), Screen()
    id = start(upstream, "slow", saves)
    screen.show(await live.attach(id, screen))
    await until(lambda: bool(screen.updates))
    for _ in range(8):
        await live.stop(id)
        await asyncio.sleep(0.001)
    await done(id)
    assert [record.status for record in saves.records] == ["stopped"]


async def test_a_cancelled_task_is_an_interrupted_answer(upstream: Upstream) -> None:
    saves, screen = Saves(), Screen()
    id = start(upstream, "slow", saves)
    screen.show(await live.attach(id, screen))
    await until(lambda: bool(screen.updates))
    task = live._here[id]._task
    assert task is not None
    task.cancel()
    await done(id)
    assert saves.last.status == "interrupted"
    assert saves.last.text


@pytest.mark.parametrize(
    ("model", "kind", "has_text"),
    [
        ("dies", "connection", True),
        ("cut", "connection", True),
        ("stall-after", "timeout", True),
        ("error-in-stream", "upstream", True),
        ("refuses-401", "auth", False),
        ("silent", "timeout", False),
        ("empty", "upstream", False),
    ],
)
async def test_a_failure_keeps_the_text_and_says_its_kind(
    upstream: Upstream, model: str, kind: str, has_text: bool
) -> None:
    saves = Saves()
    await done(start(upstream, model, saves, timeouts=IMPATIENT if kind == "timeout" else PATIENT))
    assert (saves.last.status, saves.last.error_kind) == ("failed", kind)
    assert bool(saves.last.text) is has_text
    assert saves.last.error_message


async def test_a_defect_of_ours_ends_the_answer_too(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    saves = Saves()
    await done(start(upstream, "steady", saves, kind="no-such-wire"))
    assert (saves.last.status, saves.last.error_kind) == ("failed", "upstream")
    assert "no-such-wire" in caplog.text


async def test_an_answer_that_cannot_be_rendered_ends_as_plain_text(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: BlockStream) -> str:
        raise RecursionError

    monkeypatch.setattr(BlockStream, "finish", broken)
    saves, screen = Saves(), Screen()
    id = start(upstream, "hostile", saves)
    screen.show(await live.attach(id, screen))
    await done(id)
    assert saves.last.status == "finished"
    assert screen.ended is not None
    assert screen.ended.html.startswith("<pre>")
    assert "<script" not in screen.ended.html


async def test_a_last_piece_that_cannot_be_rendered_is_stored_all_the_same(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_generation, "COALESCE_SECONDS", 60)  # all but the first piece is sent at the end
    fed: list[str] = []

    def broken(self: BlockStream, text: str) -> list[str]:
        fed.append(text)
        if len(fed) > 1:
            raise RecursionError
        return []

    monkeypatch.setattr(BlockStream, "feed", broken)
    saves, screen = Saves(), Screen()
    id = start(upstream, "slow-markdown", saves)
    screen.show(await live.attach(id, screen))
    await done(id)
    assert len(fed) == 2
    assert saves.last.text == "".join(fed) == scripts.STEADY
    assert screen.ended is not None


# --- Figures ---


async def test_a_wait_for_a_place_is_no_latency_of_the_model(upstream: Upstream) -> None:
    first, second, one = Saves(), Saves(), Limits(uuid4().hex, "one", streams=1)
    ids = [start(upstream, "steady", saves, limits=one) for saves in (first, second)]
    for id in ids:
        await done(id)
    slow, waited = sorted((first.last, second.last), key=lambda record: record.started_at or datetime.max)
    assert slow.started_at
    assert slow.latency_ms
    assert waited.started_at
    assert (waited.started_at - slow.started_at).total_seconds() * 1000 > slow.latency_ms / 2
    assert waited.finished_at
    took = (waited.finished_at - waited.started_at).total_seconds() * 1000
    assert waited.latency_ms == pytest.approx(took, abs=50)


# --- Saving ---


async def test_the_end_is_saved_before_viewers_hear_of_it(upstream: Upstream) -> None:
    saves, saved_by_then = Saves(), []
    id = start(upstream, "other", saves)

    def viewer(update: Update) -> None:
        if isinstance(update, Ended):
            saved_by_then.append(list(saves.records))

    await live.attach(id, viewer)
    await done(id)
    assert [record.status for record in saved_by_then[0]] == ["finished"]


async def test_a_save_that_fails_is_tried_again(upstream: Upstream) -> None:
    saves = Saves(failures=live_generation.SAVE_ATTEMPTS - 1)
    await done(start(upstream, "other", saves))
    assert saves.last.text == scripts.OTHER


async def test_viewers_hear_of_the_end_even_when_nothing_can_be_saved(upstream: Upstream) -> None:
    saves, screen = Saves(failures=1000), Screen()
    id = start(upstream, "other", saves)
    screen.show(await live.attach(id, screen))
    await done(id)
    assert saves.tries == live_generation.SAVE_ATTEMPTS
    assert screen.ended is not None


async def test_it_is_saved_on_the_way_and_never_backwards(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_generation, "SAVE_SECONDS", 0.03)

    class Slow(Saves):
        async def __call__(self, id: UUID, record: GenerationRecord) -> None:
            await asyncio.sleep(0.02)
            await super().__call__(id, record)

    saves = Slow()
    await done(start(upstream, "steady", saves))
    *partly, last = saves.records
    assert partly
    assert {record.status for record in partly} == {"streaming"}
    assert last.status == "finished"
    lengths = [len(record.text) for record in saves.records]
    assert lengths == sorted(lengths)
    assert all(scripts.STEADY.startswith(record.text) for record in saves.records)
    assert all(record.finished_at is None and record.latency_ms is None for record in partly)


async def test_a_nul_is_not_stored() -> None:
    """PostgreSQL cannot hold one."""
    with Upstream({"nul": scripts.Answer("a\0b and more")}) as upstream:
        saves = Saves()
        await done(start(upstream, "nul", saves))
        assert saves.last.text == "a\N{REPLACEMENT CHARACTER}b and more"


async def test_many_at_once_do_not_mix(upstream: Upstream) -> None:
    saves = {model: [Saves() for _ in range(10)] for model in ("steady", "other")}
    ids = [start(upstream, model, each) for model, them in saves.items() for each in them]
    await asyncio.gather(*(done(id) for id in ids))
    assert {each.last.text for each in saves["steady"]} == {scripts.STEADY}
    assert {each.last.text for each in saves["other"]} == {scripts.OTHER}
