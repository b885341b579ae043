"""The clock of a host is set, or a machine sleeps and wakes: nothing waits for hours, and nothing is taken for dead
that lives."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.utils import timezone

from accounts import jobs
from accounts.models import Job
from arena_project import tasks
from battles.models import Response
from battles.services import responses_sweep
from common import limits
from common.clock import AHEAD
from common.errors import TooMany
from conversations.errors import StillSpeaking
from conversations.experiments.holding import experiment_hold
from conversations.experiments.selectors import experiment_is_played
from conversations.models import Conversation, Experiment
from conversations.services import conversations_sweep
from providers import live
from providers.adapters.base import Message
from providers.engines.services import engine_create, engines_unseen_note
from providers.engines.states import State
from providers.models import Engine
from providers.selectors import target_for
from tests import factories
from tests.conversations.rows import conversation
from tests.fakes.scripts import Answer
from tests.fakes.upstream import Upstream

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
# Noted by another host, whose clock is a little ahead.
A_LITTLE_AHEAD = AHEAD / 2


def test_a_job_whose_worker_died_before_the_clock_was_set_back_is_done_by_the_next() -> None:
    for beat in (HOUR, A_LITTLE_AHEAD):
        Job.objects.create(
            owner=factories.user(), kind="export", state=Job.State.RUNNING, attempts=1, beat_at=timezone.now() + beat
        )
    jobs.jobs_sweep()
    assert list(Job.objects.order_by("-beat_at").values_list("state", flat=True)) == ["queued", "running"]


def test_a_job_that_waits_since_before_the_clock_was_set_back_is_found() -> None:
    job = Job.objects.create(owner=factories.user(), kind="export")
    Job.objects.update(created_at=timezone.now() + HOUR)
    assert jobs.jobs_sweep() == 1
    assert job.state == Job.State.QUEUED


def test_an_experiment_held_until_a_time_that_will_not_come_soon_can_be_taken_over() -> None:
    experiment = Experiment.objects.create(
        owner=factories.user(), name="e", grid={}, scenario_versions={}, held_by="elsewhere:1:x"
    )
    Experiment.objects.update(held_until=timezone.now() + A_LITTLE_AHEAD)
    experiment.refresh_from_db()
    assert experiment_is_played(experiment)
    with pytest.raises(StillSpeaking):
        experiment_hold(experiment=experiment)
    Experiment.objects.update(held_until=timezone.now() + HOUR)
    experiment.refresh_from_db()
    assert not experiment_is_played(experiment)
    assert experiment_hold(experiment=experiment)


def test_what_a_dead_server_was_writing_before_the_clock_was_set_back_ends() -> None:
    factories.battle(status=Response.Status.STREAMING)
    Response.objects.update(started_at=timezone.now() + HOUR)
    assert responses_sweep() == 2
    talk = conversation()
    Conversation.objects.filter(pk=talk.pk).update(
        state=Conversation.State.RUNNING, moved_at=timezone.now() + A_LITTLE_AHEAD
    )
    assert conversations_sweep() == 0
    Conversation.objects.filter(pk=talk.pk).update(moved_at=timezone.now() + HOUR)
    assert conversations_sweep() == 1


def test_an_engine_that_was_seen_in_the_future_is_watched_by_nobody() -> None:
    engine_create(slug="tiny", model="m", port=8101)
    for seen, is_watched in ((A_LITTLE_AHEAD, True), (HOUR, False)):
        Engine.objects.update(seen_at=timezone.now() + seen, state=State.READY)
        assert Engine.objects.get().is_watched == is_watched
        assert engines_unseen_note() == (not is_watched)


@pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "ahead"])
def test_a_limit_holds_on_and_lets_in_again_within_its_window(jump: timedelta) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for _ in range(2):
            limits.hit("jump", limit=2, seconds=60)
        clock.shift(jump)
        for _ in range(2):
            limits.hit("jump", limit=2, seconds=60)
        with pytest.raises(TooMany) as refused:
            limits.hit("jump", limit=2, seconds=60)
        assert 0 < refused.value.retry_after <= 60
        clock.shift(refused.value.retry_after)
        limits.hit("jump", limit=2, seconds=60)


@pytest.fixture
def paced() -> Iterator[Upstream]:
    with Upstream({"paced": Answer("word " * 20, seconds_a_token=0.02)}) as running:
        yield running


@pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "ahead"])
@pytest.mark.django_db(transaction=True)
async def test_an_answer_that_is_being_written_is_neither_cut_off_nor_measured_wrongly(
    paced: Upstream, jump: timedelta
) -> None:
    def target() -> Any:
        return target_for(factories.language_model("paced", endpoint=factories.endpoint(base_url=paced.url)))

    kept: list[live.GenerationRecord] = []

    async def save(id: Any, record: live.GenerationRecord) -> None:
        kept.append(record)

    id_ = uuid4()
    asked = await asyncio.to_thread(target)
    with time_machine.travel(timezone.now()) as clock:
        live.start(id_, asked, [Message("user", "Go.")], save)
        await asyncio.sleep(0.15)
        clock.shift(jump)
        await live.wait(id_)
    last = kept[-1]
    assert (last.status, last.text) == ("finished", "word " * 20)
    assert last.latency_ms is not None
    assert 100 < last.latency_ms < 60_000


def test_an_answer_that_takes_minutes_is_not_taken_for_dead_by_a_worker_that_cannot_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With one web process and no Redis, as `make run` has it, only that process knows what it writes."""
    factories.battle(status=Response.Status.STREAMING)
    Response.objects.update(started_at=timezone.now() - timedelta(minutes=5))

    def shared(is_shared: bool) -> Callable[[], bool]:
        return lambda: is_shared

    monkeypatch.setattr(live, "is_shared", shared(False))
    tasks.leftovers_clear()
    assert set(Response.objects.values_list("status", flat=True)) == {"streaming"}
    monkeypatch.setattr(live, "is_shared", shared(True))
    tasks.leftovers_clear()
    assert set(Response.objects.values_list("status", flat=True)) == {"interrupted"}
