"""The page of an experiment: the whole once, and then what has changed."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from conversations.errors import StillSpeaking
from conversations.experiments import services
from conversations.experiments.holding import experiment_hold, experiment_let_go
from conversations.experiments.playing import Flight, courses_claim, flights_store
from conversations.experiments.table import experiment_table, spots_moved
from conversations.models import Experiment
from conversations.services import conversation_run, scenarios_seed, turn_retry
from providers.live import GenerationRecord
from tests import factories

pytestmark = pytest.mark.django_db
PLACED = re.compile(r'class="spot (\w+)" id="spot-([0-9a-f-]+)" data-place="(\d+)"')


def _made(iterations: int) -> Experiment:
    scenarios_seed()
    for slug in ("one", "other"):
        factories.language_model(slug)
    grid = {"name": "x", "models": ["one", "other"], "scenarios": ["fractions"], "iterations": iterations, "turns": 2}
    made = services.experiment_create(owner=factories.user(), given=grid)
    services.conversations_make(experiment=made)
    return made


def _speak(made: Experiment, *cells: int) -> None:
    now = timezone.now()
    ids = made.conversations.filter(cell__in=cells).order_by("cell").values_list("pk", flat=True)
    record = GenerationRecord("finished", "Good.", finish_reason="stop", started_at=now, finished_at=now)
    flights = [Flight(course, course.next_turn(), record) for course in courses_claim(ids=list(ids))]
    flights_store(owner_id=made.owner_id, ended=flights)


def _page(made: Experiment, *, changes: str | None = None) -> str:
    client = Client()
    client.force_login(made.owner)
    address = f"/conversations/experiments/{made.pk}/" + ("" if changes is None else "changes/")
    answer = client.get(address, {} if changes is None else {"since": changes})
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_only_what_has_moved_since_is_sent() -> None:
    made = _made(3)
    began = timezone.now() + timedelta(minutes=1)
    made.conversations.update(moved_at=began - timedelta(minutes=2))
    assert spots_moved(made, since=began) == []
    _speak(made, 1, 6)
    moved = spots_moved(made, since=timezone.now())
    assert [(spot.place, spot.state, spot.turns) for spot in moved] == [(1, "running", 1), (2, "running", 1)]
    whole = [spot for row in experiment_table(made).rows for place in row.places for spot in place.spots]
    assert len(whole) == 12
    assert set(moved) <= set(whole)


def test_a_change_names_the_place_of_the_page_in_which_it_belongs() -> None:
    made = _made(2)
    _speak(made, 0, 5)
    whole, changed = _page(made), _page(made, changes=timezone.now().isoformat())
    assert len(PLACED.findall(whole)) == 8
    assert len(changed) < len(whole)
    assert set(PLACED.findall(changed)) <= set(PLACED.findall(whole))
    assert {place for _state, _id, place in PLACED.findall(changed)} <= set(re.findall(r'id="place-(\d+)"', whole))
    for piece in ("state", "figures", "newest"):
        assert f'id="{piece}"' in whole
        assert f'id="{piece}"' in changed


def test_the_page_is_looked_at_again_while_any_process_plays_it() -> None:
    made = _made(1)
    assert "data-changes" not in _page(made)
    name = experiment_hold(experiment=made)
    page = _page(made)
    assert "data-changes" in page
    assert "Play what is missing" not in page
    assert "data-since" in _page(made, changes=timezone.now().isoformat())
    experiment_let_go(experiment=made, name=name)
    assert "data-since" not in _page(made, changes=timezone.now().isoformat())


@pytest.mark.parametrize(
    "since", ["", "yesterday", "2026-01-01", "0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"]
)
def test_any_time_can_be_named(since: str) -> None:
    _page(_made(1), changes=since)


def test_the_changes_are_their_owners_alone() -> None:
    made, client = _made(1), Client()
    client.force_login(factories.user())
    assert client.get(f"/conversations/experiments/{made.pk}/changes/").status_code == 404


@pytest.mark.parametrize("piece", ["", "changes/?since=2026-01-01T00:00:00Z"])
def test_a_large_experiment_takes_as_many_queries_as_a_small_one(
    client: Client, piece: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    made = _made(10)
    _speak(made, *range(40))
    client.force_login(made.owner)
    with django_assert_max_num_queries(14):
        page = client.get(f"/conversations/experiments/{made.pk}/{piece}")
    assert len(PLACED.findall(page.content.decode())) == 40


def test_nobody_plays_a_conversation_while_a_worker_plays_its_experiment() -> None:
    made = _made(1)
    id_ = made.conversations.earliest("cell").pk
    name = experiment_hold(experiment=made)
    with pytest.raises(StillSpeaking, match="experiment is being played"):
        conversation_run(conversation_id=id_, owner=made.owner)
    with pytest.raises(StillSpeaking, match="experiment is being played"):
        turn_retry(conversation_id=id_, owner=made.owner)
    experiment_let_go(experiment=made, name=name)
    assert conversation_run(conversation_id=id_, owner=made.owner)


def test_a_conversation_leads_to_its_experiment_and_the_list_does_without_any(client: Client) -> None:
    made = _made(1)
    client.force_login(made.owner)
    page = client.get(f"/conversations/{made.conversations.earliest('cell').pk}/").content.decode()
    assert f'href="/conversations/experiments/{made.pk}/"' in page
    index = client.get("/conversations/").content.decode()
    assert "No conversations yet" in index
    for address in ("experiments", "compare", "scenarios"):
        assert f'href="/conversations/{address}/"' in index


def test_the_list_of_experiments_takes_no_query_for_each(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    made, client = _made(1), Client()
    for _ in range(20):
        services.experiment_create(owner=made.owner, given=made.grid)
    client.force_login(made.owner)
    with django_assert_max_num_queries(6):
        page = client.get("/conversations/experiments/").content.decode()
    assert page.count('class="history-row"') == 20
    assert client.get("/conversations/experiments/?page=2").content.decode().count('class="history-row"') == 1
