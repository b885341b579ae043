"""A side of a blind battle whose model fails before its first word is drawn again, and nobody who judges can tell."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connections

from battles import events, generation, services, state
from battles.feed import BattleFeed
from battles.models import Battle, Redraw, Response
from battles.selectors import battle_whole
from common.database import in_database_thread
from common.frames import encode
from leaderboard.models import Comparison
from providers.adapters.base import ErrorKind, ProviderError
from providers.adapters.http import close_clients
from providers.models import LanguageModel, Usage
from tests import factories
from tests.fakes.scripts import OTHER, STEADY, Answer
from tests.fakes.upstream import Upstream
from tests.live import Person

# What is written is stored in another thread.
transactional = pytest.mark.django_db(transaction=True)

TIMEOUTS: dict[str, Any] = {"first_token_timeout": 0.3, "idle_timeout": 0.3}


@pytest.fixture
def quick() -> Iterator[Upstream]:
    scripts = {"steady": Answer(STEADY, seconds_a_token=0), "other": Answer(OTHER, seconds_a_token=0)}
    with Upstream(scripts) as upstream:
        yield upstream


def model(upstream: Upstream, script: str, **fields: Any) -> LanguageModel:
    """A model on an endpoint of its own."""
    endpoint = factories.endpoint(base_url=upstream.url, **TIMEOUTS)
    return factories.language_model(endpoint=endpoint, upstream_id=script, **fields)


def begun(*models: LanguageModel, **fields: Any) -> services.BegunTurn:
    """The first turn of a battle between these two."""
    battle = factories.battle(models=models, prompts=(), **fields)
    return services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="Why is the sky blue?")


def write(turn: services.BegunTurn, *, is_watched: bool = True) -> list[dict[str, Any]]:
    """Let the turn be written to its end; what somebody saw who watched from the start."""
    frames: list[events.ServerFrame] = []
    owner = turn.battle.owner

    async def written() -> None:
        feed = BattleFeed(battle_id=turn.battle.id, viewer=owner, send=frames.append)
        try:
            await generation.launch(turn.requests)
            if is_watched:
                await feed.open()
            await generation.wait([request.response.id for request in turn.requests])
            await asyncio.sleep(0)
        finally:
            await feed.close()
            await close_clients()
            await in_database_thread(connections.close_all)()

    asyncio.run(written())
    return [json.loads(encode(frame)) for frame in frames]


def redraw(turn: services.BegunTurn, label: str = "a", kind: ErrorKind = ErrorKind.AUTH) -> LanguageModel | None:
    """Who is asked instead after this failure, without asking."""
    response = next(request.response for request in turn.requests if request.response.side.label == label)
    asked = services.side_redraw(response_id=response.id, error=ProviderError(kind, "Zebrafish said\0no"))
    return asked.response.model if asked else None


def texts(turn: services.BegunTurn) -> list[str]:
    return [response.text for response in Response.objects.filter(turn=turn.turn).order_by("side__label")]


# --- What the reader sees ---


@transactional
@pytest.mark.parametrize("is_watched", [True, False])
def test_another_model_answers_whether_or_not_anybody_watches(quick: Upstream, is_watched: bool) -> None:
    turn = begun(model(quick, "refuses-401"), model(quick, "other"))
    model(quick, "steady")
    write(turn, is_watched=is_watched)
    assert texts(turn) == [STEADY, OTHER]


@transactional
@pytest.mark.parametrize("script", ["refuses-401", "html", "stall-before", "empty-of-all"])
def test_the_reader_sees_an_assistant_that_thinks_and_then_answers(quick: Upstream, script: str) -> None:
    quick.scripts["empty-of-all"] = Answer("", ending="cut")
    turn = begun(model(quick, script, name="Axolotl of old"), model(quick, "other"))
    model(quick, "steady")
    frames = write(turn)
    seen = [frame for frame in frames if frame.get("side") == "a"]
    assert {frame["type"] for frame in seen} <= {"delta", "block", "finished"}
    assert [frame["text"] for frame in seen if frame["type"] == "finished"] == [STEADY]
    content = json.dumps(frames).lower()
    assert not [clue for clue in ("axolotl", "zebrafish", "redraw", "failed", '"attempt": 2') if clue in content]


@transactional
def test_two_battles_of_which_one_was_drawn_again_look_the_same(quick: Upstream) -> None:
    model(quick, "steady")
    shown = []
    for first in ("refuses-401", "steady"):
        turn = begun(model(quick, first), model(quick, "other"))
        write(turn)
        battle = battle_whole(battle_id=turn.battle.id, viewer=turn.battle.owner)
        content = json.dumps(state.battle_state(battle), default=str, sort_keys=True)
        for response in Response.objects.filter(turn=turn.turn):
            content = content.replace(str(response.id), response.side.label)
        shown.append(content.replace(str(battle.id), "").replace(battle.created_at.isoformat(), ""))
    assert shown[0] == shown[1]


# --- Who answers ---


@transactional
def test_two_sides_that_fail_at_once_get_two_models(quick: Upstream) -> None:
    turn = begun(model(quick, "refuses-401"), model(quick, "refuses-401"))
    model(quick, "steady")
    model(quick, "other")
    write(turn)
    assert sorted(texts(turn)) == sorted([STEADY, OTHER])
    assert len({side.model_id for side in turn.battle.sides.all()}) == 2


@transactional
def test_where_nobody_else_is_left_the_side_fails_as_it_would_have(quick: Upstream) -> None:
    turn = begun(model(quick, "refuses-401"), model(quick, "other"))
    frames = write(turn)
    assert [frame["kind"] for frame in frames if frame["type"] == "failed"] == ["unavailable"]
    failed = Response.objects.get(turn=turn.turn, side__label="a")
    assert (failed.status, failed.error_kind) == ("failed", "auth")
    assert not Redraw.objects.exists()


@transactional
def test_after_two_more_that_fail_it_is_enough(quick: Upstream) -> None:
    turn = begun(model(quick, "refuses-401"), model(quick, "other"))
    for _ in range(4):
        model(quick, "refuses-401")
    write(turn)
    assert Redraw.objects.count() == 2
    assert len(quick.asked("refuses-401")) == 3
    assert Response.objects.get(turn=turn.turn, side__label="a").status == "failed"


@transactional
def test_a_model_that_has_said_a_word_is_not_replaced(quick: Upstream) -> None:
    turn = begun(model(quick, "dies"), model(quick, "other"))
    model(quick, "steady")
    write(turn)
    assert texts(turn)[0]
    assert not Redraw.objects.exists()


@transactional
def test_the_models_own_time_is_kept_and_not_that_of_the_one_before_it(quick: Upstream) -> None:
    turn = begun(model(quick, "stall-before"), model(quick, "other"))
    model(quick, "steady")
    write(turn)
    response = Response.objects.get(turn=turn.turn, side__label="a")
    assert response.text == STEADY
    assert response.first_token_ms is not None
    assert response.first_token_ms < TIMEOUTS["first_token_timeout"] * 1000


@transactional
def test_a_defect_while_drawing_leaves_the_models_own_failure(
    quick: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    turn = begun(model(quick, "refuses-401"), model(quick, "other"))
    model(quick, "steady", quirks={"no such quirk": True})
    write(turn)
    failed = Response.objects.get(turn=turn.turn, side__label="a")
    assert (failed.status, failed.error_kind) == ("failed", "auth")
    assert "Nobody could be drawn instead" in caplog.text


# --- What is kept ---


@transactional
def test_the_credit_goes_to_the_model_that_answered(quick: Upstream) -> None:
    failing = model(quick, "refuses-401", input_price=1, output_price=1)
    other = model(quick, "other")
    turn = begun(failing, other)
    spare = model(quick, "steady")
    write(turn)
    services.preference_record(battle_id=turn.battle.id, voter=turn.battle.owner, choice="a")
    comparison = Comparison.objects.get()
    assert {comparison.model_a_id, comparison.model_b_id} == {spare.pk, other.pk}
    shown = state.battle_state(battle_whole(battle_id=turn.battle.id, viewer=turn.battle.owner))
    assert [side["model"]["slug"] for side in shown["sides"]] == [spare.slug, other.slug]
    assert Response.objects.get(side__label="a").model == spare
    assert failing.slug not in json.dumps(shown, default=str)


@transactional
def test_the_operator_sees_who_failed_and_why_and_it_is_counted(quick: Upstream) -> None:
    failing = model(quick, "refuses-401")
    turn = begun(failing, model(quick, "other"))
    spare = model(quick, "steady")
    write(turn)
    row = Redraw.objects.get()
    assert (row.model, row.error_kind, row.side.label) == (failing, "auth", "a")
    assert "does not know this key" in row.error_message
    failing.refresh_from_db()
    assert failing.failures_in_row == 1
    counted = {use.model_id: (use.requests, use.failures) for use in Usage.objects.all()}
    assert counted[failing.pk] == (1, 1)
    assert counted[spare.pk] == (1, 0)


# --- The rules ---


@pytest.mark.django_db
def test_the_pool_of_a_battle_is_kept() -> None:
    inside = [factories.language_model() for _ in range(3)]
    factories.language_model()
    turn = begun(*inside[:2], pool=sorted(one.slug for one in inside))
    assert redraw(turn) == inside[2]
    assert redraw(turn, "b") is None


@pytest.mark.django_db
def test_nobody_comes_back_to_a_battle_that_they_left() -> None:
    models = [factories.language_model() for _ in range(4)]
    turn = begun(*models[:2])
    assert {redraw(turn), redraw(turn, "b")} == set(models[2:])
    assert redraw(turn) is None


@pytest.mark.django_db
@pytest.mark.parametrize(
    "fields",
    [
        {"status": LanguageModel.Status.HIDDEN},
        {"sampling_weight": 0},
        {"endpoint__is_reachable": False},
        {"endpoint__has_outage": True},
        {"endpoint__is_enabled": False},
    ],
)
def test_only_who_may_be_drawn_is_asked_instead(fields: dict[str, Any]) -> None:
    endpoint = factories.endpoint(
        **{name.removeprefix("endpoint__"): value for name, value in fields.items() if name.startswith("endpoint__")}
    )
    own = {name: value for name, value in fields.items() if not name.startswith("endpoint__")}
    turn = begun(factories.language_model(), factories.language_model())
    factories.language_model(endpoint=endpoint, **own)
    assert redraw(turn) is None


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ErrorKind)
def test_what_is_the_prompts_own_fault_would_fail_elsewhere_too(kind: ErrorKind) -> None:
    turn = begun(factories.language_model(), factories.language_model())
    factories.language_model()
    its_own_fault = (ErrorKind.BAD_REQUEST, ErrorKind.CONTEXT_LENGTH, ErrorKind.CONTENT_FILTER, ErrorKind.CANCELLED)
    assert (redraw(turn, kind=kind) is None) == (kind in its_own_fault)


@pytest.mark.django_db
def test_a_named_battle_keeps_its_models() -> None:
    turn = begun(factories.language_model(), factories.language_model(), mode=Battle.Mode.NAMED)
    factories.language_model()
    assert redraw(turn) is None


@pytest.mark.django_db
def test_a_blind_line_up_is_drawn_again_too() -> None:
    turn = begun(factories.language_model(), factories.language_model(), mode=Battle.Mode.LINEUP, is_blind=True)
    spare = factories.language_model()
    assert redraw(turn) == spare


@pytest.mark.django_db
def test_after_the_first_turn_a_side_stays_who_it_is() -> None:
    battle = factories.battle()
    factories.language_model()
    assert redraw(services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="And then?")) is None


@pytest.mark.django_db
def test_a_further_attempt_is_the_same_models() -> None:
    battle = factories.battle()
    factories.language_model()
    _, asked = services.response_regenerate(battle_id=battle.id, owner=battle.owner, label="a")
    error = ProviderError(ErrorKind.AUTH)
    assert services.side_redraw(response_id=asked.response.id, error=error) is None


@pytest.mark.django_db
def test_an_operator_can_do_without(settings: Any) -> None:
    assert django_settings.REDRAW_FAILED_SIDES
    settings.REDRAW_FAILED_SIDES = False
    turn = begun(factories.language_model(), factories.language_model())
    factories.language_model()
    assert redraw(turn) is None


@pytest.mark.django_db
def test_a_battle_that_was_deleted_meanwhile_asks_nobody() -> None:
    turn = begun(factories.language_model(), factories.language_model())
    factories.language_model()
    services.battle_delete(battle_id=turn.battle.id, owner=turn.battle.owner)
    assert redraw(turn) is None


# --- On a running server ---


@pytest.mark.xdist_group("server")
def test_a_battle_of_the_api_is_drawn_again(person: Person, upstream: Upstream) -> None:
    scripts: Sequence[str] = ("refuses-first", "steady", "other")
    for _ in range(30):  # until it is drawn
        battle = person.battle(*scripts)
        _, whole = person.call("GET", f"battles/{battle['id']}/")
        with person.watch(battle["id"]) as window:
            ends = window.until_ended()
            assert "failed" not in json.dumps([battle, whole, window.frames])
        assert {end["text"] for end in ends.values()} == {STEADY, OTHER}
        if upstream.asked("refuses-first"):
            break
    assert upstream.asked("refuses-first")
    _, revealed = person.call("POST", f"battles/{battle['id']}/preference/", {"choice": "a"})
    assert {side["model"]["slug"] for side in revealed["sides"]} == {"axolotl-steady", "axolotl-other"}
