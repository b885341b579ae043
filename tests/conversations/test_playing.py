"""What keeps an experiment's turns: one transaction for many, a log on disk, and one process at a time."""

import asyncio
import json
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.jobs import JobCancelled
from common.database import in_database_thread
from conversations import events
from conversations.errors import ExperimentInvalid, StillSpeaking
from conversations.experiments import services
from conversations.experiments.holding import experiment_hold, experiment_hold_on, experiment_let_go
from conversations.experiments.journal import Journal, key_of
from conversations.experiments.playing import Flight, courses_claim, flight_show, flights_store
from conversations.experiments.running import experiment_play
from conversations.experiments.selectors import experiment_log, experiment_pace, experiment_turns
from conversations.experiments.storing import Storing
from conversations.feed import ConversationFeed
from conversations.models import Conversation, Experiment, Turn
from conversations.services import conversation_inject, conversation_pause, scenarios_seed
from providers.live import GenerationRecord
from providers.models import LanguageModel, Usage
from tests import factories
from tests.fakes.scripts import Answer, Script
from tests.fakes.upstream import Upstream

ROW = {"conversation": "c", "turn_id": 1, "started_at": "2026-01-01T00:00:00+00:00", "content": "Grüße\n\x1f"}


def _experiment(upstream: Upstream | None = None, *models: str, **grid: Any) -> Experiment:
    scenarios_seed()
    endpoint = factories.endpoint(base_url=upstream.url) if upstream else factories.endpoint()
    for slug in models or ("steady",):
        factories.language_model(slug, endpoint=endpoint)
    given = {"name": "p", "models": list(models or ("steady",)), "scenarios": ["fractions"], "turns": 2} | grid
    made = services.experiment_create(owner=factories.user(), given=given)
    services.conversations_make(experiment=made)
    return made


def _record(text: str = "Good.", **fields: Any) -> GenerationRecord:
    now = timezone.now()
    return GenerationRecord("finished", text, finish_reason="stop", started_at=now, finished_at=now, **fields)


def _flights(made: Experiment) -> list[Flight]:
    ids = list(made.conversations.order_by("cell").values_list("pk", flat=True))
    return [Flight(course, course.next_turn(), _record()) for course in courses_claim(ids=ids)]


def test_a_torn_last_line_is_cut_off_and_whole_ones_stay(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append([ROW, ROW | {"turn_id": 2}])
    with journal.path.open("ab") as file:
        file.write(b'{"conversation": "c", "turn_id": 3, "conte')
    with Journal(tmp_path) as journal:
        assert journal.known() == {key_of(ROW), key_of(ROW | {"turn_id": 2})}
        journal.append([ROW | {"turn_id": 3}])
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()]
    assert [line["turn_id"] for line in lines] == [1, 2, 3]
    assert lines[0] == ROW


async def test_what_ends_meanwhile_is_stored_together_and_one_that_fails_costs_no_other() -> None:
    groups: list[list[int]] = []

    async def store(some: Sequence[int]) -> None:
        groups.append(list(some))
        await asyncio.sleep(0)
        if 3 in some:
            raise ValueError(some)

    storing = Storing(store)
    ended = await asyncio.gather(*(storing.put(one) for one in range(6)), return_exceptions=True)
    assert [isinstance(one, ValueError) for one in ended] == [False, False, False, True, False, False]
    assert groups[0] == [0, 1, 2, 3, 4, 5]
    assert sorted(groups[1:]) == [[0], [1], [2], [3], [4], [5]]


@pytest.mark.django_db
def test_ten_turns_are_stored_in_as_many_queries_as_one(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    flights = _flights(made := _experiment(iterations=10))
    with django_assert_max_num_queries(12):
        flights_store(owner_id=made.owner_id, ended=flights)
    assert experiment_turns(made).count() == Usage.objects.get().requests == 10
    assert all(flight.is_stored and flight.stand is None for flight in flights)
    last = [Flight(flight.course, flight.course.next_turn(), _record()) for flight in flights]
    flights_store(owner_id=made.owner_id, ended=last)
    assert set(made.conversations.values_list("state", "reason")) == {("ended", "max_turns")}


@pytest.mark.django_db
def test_a_pause_and_a_moderators_line_are_heard_with_the_next_turn_that_is_stored() -> None:
    paused, spoken = _flights(made := _experiment(iterations=2))
    conversation_pause(conversation_id=paused.conversation.pk, owner=made.owner)
    conversation_inject(conversation_id=spoken.conversation.pk, owner=made.owner, text="Be brief.")
    flights_store(owner_id=made.owner_id, ended=[paused, spoken])
    assert paused.stand is not None
    assert Conversation.objects.get(pk=paused.conversation.pk).reason == "asked"
    assert spoken.stand is None
    assert [turn.text for turn in spoken.course.turns] == ["Good.", "Be brief."]
    assert list(spoken.conversation.turns.values_list("position", "text")) == [(1, "Good."), (2, "Be brief.")]
    assert spoken.course.next_turn().turn.position == 3


@pytest.mark.django_db
def test_a_turn_that_is_shown_after_a_line_was_said_stands_before_it() -> None:
    (flight,) = _flights(made := _experiment())
    flight.record = None
    for text in ("Be brief.", "And kind."):
        conversation_inject(conversation_id=flight.conversation.pk, owner=made.owner, text=text)
    flight_show(flight=flight, text="Goo")
    flight.record = _record()
    flights_store(owner_id=made.owner_id, ended=[flight])
    assert [turn.text for turn in flight.course.turns] == ["Good.", "Be brief.", "And kind."]
    assert list(made.conversations.get().turns.values_list("position", flat=True)) == [1, 2, 3]


@pytest.mark.django_db(transaction=True)
def test_a_window_hears_that_a_line_has_given_way_to_a_turn() -> None:
    (flight,) = _flights(made := _experiment())
    flight.record = None
    conversation_inject(conversation_id=flight.conversation.pk, owner=made.owner, text="Be brief.")
    frames: list[events.ServerFrame] = []

    async def look() -> None:
        feed = ConversationFeed(conversation_id=flight.conversation.pk, viewer=made.owner, send=frames.append)
        await feed.open()
        await in_database_thread(flight_show)(flight=flight, text="Goo")
        await feed.refresh()
        await feed.close()

    asyncio.run(look())
    told = [frame.turn for frame in frames if isinstance(frame, events.Turn)]
    assert [(turn["position"], turn["text"]) for turn in told] == [(1, "Goo"), (2, "Be brief.")]


@pytest.mark.django_db
def test_an_experiment_is_held_by_one_living_process() -> None:
    made = _experiment()
    name = experiment_hold(experiment=made)
    with pytest.raises(StillSpeaking, match="another process"):
        experiment_hold(experiment=made)
    host = name.split(":")[0]
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    Experiment.objects.update(held_by=f"{host}:{gone}:x")  # killed on this machine
    assert not experiment_hold_on(experiment=made, name=name)
    second = experiment_hold(experiment=made)
    Experiment.objects.update(held_by="elsewhere:1:x", held_until=timezone.now() - timedelta(seconds=1))
    third = experiment_hold(experiment=made)  # silent for too long
    experiment_let_go(experiment=made, name=second)
    assert experiment_hold_on(experiment=made, name=third)


@pytest.mark.django_db(transaction=True)
def test_every_turn_is_in_the_log_on_disk_once_and_as_exported(upstream: Upstream, tmp_path: Path) -> None:
    made = _experiment(upstream, iterations=3)
    experiment_play(experiment=made, on_progress=lambda done, total: None, folder=tmp_path)
    lines = (tmp_path / "turns.jsonl").read_text().splitlines(keepends=True)
    assert sorted((row := json.loads(line))["conversation"] + str(row["turn_id"]) for line in lines) == sorted(
        row["conversation"] + str(row["turn_id"]) for row in experiment_log(made)
    )
    assert {tuple(json.loads(line)) for line in lines} == {tuple(next(experiment_log(made)))}
    (tmp_path / "turns.jsonl").write_text("".join(lines[:3]) + lines[3][:40])
    experiment_play(experiment=made, on_progress=lambda done, total: None, folder=tmp_path)
    assert sorted((tmp_path / "turns.jsonl").read_text().splitlines(keepends=True)) == sorted(lines)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("script", "kind", "says"),
    [
        (Answer(""), "upstream", "without any text"),
        (Answer("", reasoning="Let me think."), "upstream", "without any text"),
    ],
)
def test_an_agent_that_says_nothing_stands_still_at_a_failed_turn(script: Script, kind: str, says: str) -> None:
    with Upstream({"mute": script}) as upstream:
        made = _experiment(upstream, "mute")
        experiment_play(experiment=made, on_progress=lambda done, total: None)
    turn, conversation = Turn.objects.get(), made.conversations.get()
    assert (turn.status, turn.error_kind) == ("failed", kind)
    assert says in turn.error_message
    assert (conversation.state, conversation.reason) == ("paused", "failed")


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_would_write_forever_is_told_where_to_end(upstream: Upstream) -> None:
    made = _experiment(upstream, turns=1)
    before = len(upstream.asked("steady"))
    experiment_play(experiment=made, on_progress=lambda done, total: None)
    assert [asked.sampling["max_tokens"] for asked in upstream.asked("steady")[before:]] == [1024]


@pytest.mark.django_db(transaction=True)
def test_a_model_that_is_retired_meanwhile_is_asked_no_more() -> None:
    with Upstream({"paced": Answer("word " * 10, seconds_a_token=0.05)}) as upstream:
        made = _experiment(upstream, "paced", turns=40)

        def retire(done: int, total: int) -> None:
            LanguageModel.objects.update(status=LanguageModel.Status.RETIRED)

        experiment_play(experiment=made, on_progress=retire)
    conversation = made.conversations.get()
    assert (conversation.state, conversation.reason) == ("paused", "refused")
    assert "cannot be asked" in conversation.note
    assert 1 <= experiment_turns(made).count() < 20


@pytest.mark.django_db(transaction=True)
def test_a_cancelled_experiment_asks_nothing_of_what_waits_in_line() -> None:
    with Upstream({"paced": Answer("word " * 30, seconds_a_token=0.05)}) as upstream:
        made = _experiment(upstream, "paced", iterations=12, turns=5)
        made.owner.refresh_from_db()
        LanguageModel.objects.get().endpoint.__class__.objects.update(max_streams=2)

        def cancel(done: int, total: int) -> None:
            raise JobCancelled

        with pytest.raises(JobCancelled):
            experiment_play(experiment=made, on_progress=cancel)
        assert len(upstream.asked("paced")) <= 4
    assert set(made.conversations.values_list("state", "reason")) == {("paused", "asked")}
    assert not Turn.objects.filter(status__in=Turn.LIVE).exists()


@pytest.mark.django_db
def test_the_limit_of_a_grid_is_named_and_can_be_raised(settings: Settings) -> None:
    made = _experiment()
    grid = made.grid | {"iterations": 1_000_000}
    with pytest.raises(ExperimentInvalid, match=r"1,000,000 conversations.*10,000.*EXPERIMENT_CONVERSATIONS_MAX"):
        services.grid_check(owner=made.owner, given=grid)
    settings.EXPERIMENT_CONVERSATIONS_MAX = 1_000_000
    assert services.grid_check(owner=made.owner, given=grid).iterations == 1_000_000


@pytest.mark.django_db
def test_pace_and_what_is_left_by_hand() -> None:
    made = _experiment(iterations=4)
    assert experiment_pace(made) == {"turns_a_minute": None, "seconds_left": None}
    flights_store(owner_id=made.owner_id, ended=_flights(made))
    Turn.objects.update(finished_at=timezone.now() - timedelta(minutes=2))
    pace = experiment_pace(made)  # 4 turns in 2 minutes, 4 are left
    assert (pace["turns_a_minute"], pace["seconds_left"]) == (2.0, 120)
