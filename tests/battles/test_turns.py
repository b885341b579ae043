"""Beginning a battle, going on with it, and writing an answer anew."""

from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from battles import services
from battles.errors import ModelsInvalid, SideGone, StillAnswering, TooFewModels
from battles.models import Battle, Response, Turn
from common.errors import NotFound, TooMany
from providers.adapters.base import Message
from providers.models import LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db


def test_a_battle_starts_with_two_different_models_and_a_waiting_response_each() -> None:
    for _ in range(3):
        factories.language_model()
    begun = services.battle_start(owner=factories.user(), prompt="Hello?")
    models = {request.response.side.model_id for request in begun.requests}
    assert len(models) == 2
    assert [request.messages for request in begun.requests] == [(Message("user", "Hello?"),)] * 2
    assert set(begun.turn.responses.values_list("status", flat=True)) == {"waiting"}


def test_both_positions_are_drawn() -> None:
    first, _ = factories.language_model(), factories.language_model()
    owner = factories.user()
    labels = {
        next(side.label for side in services.battle_create(owner=owner).sides.all() if side.model_id == first.pk)
        for _ in range(40)
    }
    assert labels == {"a", "b"}


def test_models_that_are_hidden_unreachable_switched_off_or_of_weight_zero_are_never_drawn() -> None:
    good = {factories.language_model().pk, factories.language_model().pk}
    factories.language_model(status=LanguageModel.Status.HIDDEN)
    factories.language_model(status=LanguageModel.Status.RETIRED)
    factories.language_model(sampling_weight=0)
    factories.language_model(endpoint=factories.endpoint(is_enabled=False))
    factories.language_model(endpoint=factories.endpoint(is_reachable=False))
    owner = factories.user()
    drawn = {side.model_id for _ in range(30) for side in services.battle_create(owner=owner).sides.all()}
    assert drawn == good


def test_one_model_alone_makes_no_battle_and_leaves_nothing_behind() -> None:
    factories.language_model()
    with pytest.raises(TooFewModels):
        services.battle_start(owner=factories.user(), prompt="Hello?")
    assert not Battle.objects.exists()


@pytest.mark.parametrize("slugs", [["one"], ["one", "one"], ["one", "unknown"], [], ["one", "two", "three"]])
def test_a_named_battle_needs_two_different_active_models(slugs: list[str]) -> None:
    for slug in ("one", "two", "three"):
        factories.language_model(slug)
    with pytest.raises(ModelsInvalid):
        services.battle_create(owner=factories.user(), mode=Battle.Mode.NAMED, models=slugs)


def test_each_side_is_sent_its_own_history_and_what_it_failed_to_answer() -> None:
    battle = factories.battle(prompts=("One?", "Two?"))
    failed = Response.objects.get(turn__number=2, side__label="b")
    failed.status, failed.text = Response.Status.FAILED, ""
    failed.save()
    begun = services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="Three?")
    sent = {request.response.side.label: request.messages for request in begun.requests}
    assert sent["a"] == (
        Message("user", "One?"),
        Message("assistant", "Answer 1 of side a."),
        Message("user", "Two?"),
        Message("assistant", "Answer 2 of side a."),
        Message("user", "Three?"),
    )
    assert sent["b"] == (
        Message("user", "One?"),
        Message("assistant", "Answer 1 of side b."),
        Message("user", "Two?\n\nThree?"),
    )


def test_the_battles_system_prompt_comes_after_the_contenders_own() -> None:
    models = [factories.language_model(system_prompt="Be brief."), factories.language_model()]
    battle = factories.battle(models=models, system_prompt="Answer in French.")
    begun = services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="Hello?")
    prompts = {request.response.side.label: request.target.system_prompt for request in begun.requests}
    assert prompts == {"a": "Be brief.\n\nAnswer in French.", "b": "Answer in French."}


def test_a_turn_waits_for_the_one_before() -> None:
    battle = factories.battle(status=Response.Status.STREAMING)
    Response.objects.update(started_at=timezone.now())
    with pytest.raises(StillAnswering):
        services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="And?")
    assert Turn.objects.count() == 1


def test_answers_that_nobody_writes_any_more_are_marked_and_do_not_block() -> None:
    battle = factories.battle(status=Response.Status.STREAMING)
    Response.objects.update(started_at=timezone.now() - timedelta(minutes=1), text="half an ans")
    services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="And?")
    kept = Response.objects.filter(turn__number=1)
    assert {(r.status, r.text) for r in kept} == {("interrupted", "half an ans")}


def test_a_model_that_was_retired_in_the_middle_ends_the_battle_but_not_the_vote() -> None:
    battle = factories.battle()
    LanguageModel.objects.filter(pk=battle.sides.all()[0].model_id).update(status=LanguageModel.Status.RETIRED)
    with pytest.raises(SideGone) as refusal:
        services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="And?")
    assert not any(side.model.name in str(refusal.value) for side in battle.sides.all())
    services.preference_record(battle_id=battle.id, voter=battle.owner, choice="a")


def test_regenerating_keeps_the_earlier_attempt_and_lets_the_new_one_stand() -> None:
    battle = factories.battle()
    _, request = services.response_regenerate(battle_id=battle.id, owner=battle.owner, label="a")
    attempts = Response.objects.filter(turn__battle=battle, side__label="a").order_by("attempt")
    assert [(r.attempt, r.is_current, r.text) for r in attempts] == [(1, False, "Answer 1 of side a."), (2, True, "")]
    assert request.messages == (Message("user", "Why is the sky blue?"),)


def test_an_unknown_side_and_anothers_battle_are_not_found() -> None:
    battle = factories.battle()
    with pytest.raises(NotFound):
        services.response_regenerate(battle_id=battle.id, owner=battle.owner, label="c")
    with pytest.raises(NotFound):
        services.turn_begin(battle_id=battle.id, owner=factories.user(), prompt="Mine?")


@override_settings(BATTLES_PER_HOUR=2)
def test_a_person_may_ask_so_often_an_hour_and_no_more() -> None:
    battle = factories.battle()
    for _ in range(2):
        services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="Again?")
        Response.objects.update(status=Response.Status.FINISHED, text="Yes.")
    with pytest.raises(TooMany):
        services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="Again?")
