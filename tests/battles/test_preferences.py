"""A vote: who may give it, when, and what follows from it."""

import pytest
from django.db import IntegrityError, transaction

from battles import services
from battles.errors import AlreadyJudged, AlreadyVoted, NotVotable
from battles.models import Battle, Preference, Response
from common.errors import NotFound, TourneyError
from leaderboard.models import Comparison
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("choice", ["a", "b", "tie", "both_bad"])
def test_a_vote_becomes_a_preference_a_reveal_and_a_comparison(choice: str) -> None:
    battle = factories.battle()
    a, b = (side.model for side in battle.sides.all())

    preference = services.preference_record(
        battle_id=battle.id, voter=battle.owner, choice=choice, reasons=["style", "clear"], comment=" ok "
    )

    battle.refresh_from_db()
    comparison = Comparison.objects.get()
    assert battle.revealed_at is not None
    assert (preference.winner.label if preference.winner else preference.choice) == choice
    assert (preference.reasons, preference.comment, preference.turns) == (["clear", "style"], "ok", 1)
    assert (comparison.model_a, comparison.model_b, comparison.outcome) == (a, b, choice)
    assert (comparison.source_kind, comparison.source_id) == ("battle", str(battle.id))
    assert (comparison.is_blind, comparison.voter, comparison.category) == (True, battle.owner, battle.category)


def test_a_second_vote_is_refused_and_changes_nothing() -> None:
    battle = factories.battle()
    services.preference_record(battle_id=battle.id, voter=battle.owner, choice="a")
    with pytest.raises(AlreadyVoted):
        services.preference_record(battle_id=battle.id, voter=battle.owner, choice="b")
    assert Comparison.objects.get().outcome == "a"


def test_the_database_itself_holds_one_preference_a_voter_and_battle() -> None:
    battle = factories.battle()
    services.preference_record(battle_id=battle.id, voter=battle.owner, choice="tie")
    with pytest.raises(IntegrityError), transaction.atomic():
        Preference.objects.create(battle=battle, voter=battle.owner, choice="both_bad", turns=1)


def test_a_vote_on_anothers_battle_finds_nothing() -> None:
    battle = factories.battle()
    with pytest.raises(NotFound):
        services.preference_record(battle_id=battle.id, voter=factories.user(), choice="a")
    assert not Preference.objects.exists()


@pytest.mark.parametrize("status", [Response.Status.WAITING, Response.Status.STREAMING, Response.Status.FAILED])
def test_a_battle_that_was_not_answered_cannot_be_voted_on(status: str) -> None:
    battle = factories.battle(status=status)
    with pytest.raises(NotVotable):
        services.preference_record(battle_id=battle.id, voter=battle.owner, choice="a")
    assert not Comparison.objects.exists()


def test_a_battle_is_votable_although_one_side_failed_in_a_later_turn() -> None:
    battle = factories.battle(prompts=("One?", "Two?"))
    last = Response.objects.filter(turn__battle=battle, turn__number=2).first()
    assert last is not None
    last.status, last.text = Response.Status.FAILED, ""
    last.save()
    services.preference_record(battle_id=battle.id, voter=battle.owner, choice="a")
    assert Comparison.objects.count() == 1


def test_a_vote_in_a_named_battle_is_kept_but_not_as_a_blind_one() -> None:
    battle = factories.battle(mode=Battle.Mode.NAMED)
    services.preference_record(battle_id=battle.id, voter=battle.owner, choice="b")
    assert not Comparison.objects.get().is_blind


@pytest.mark.parametrize(
    "wrong", [{"choice": "left"}, {"choice": ""}, {"choice": "a", "reasons": ["pretty"]}, {"choice": "winner"}]
)
def test_a_vote_that_is_not_understood_is_refused(wrong: dict[str, object]) -> None:
    battle = factories.battle()
    with pytest.raises(TourneyError):
        services.preference_record(battle_id=battle.id, voter=battle.owner, **wrong)  # type: ignore[arg-type]
    assert not Preference.objects.exists()


def test_an_answer_that_was_judged_is_not_written_anew() -> None:
    battle = factories.battle()
    services.preference_record(battle_id=battle.id, voter=battle.owner, choice="a")
    with pytest.raises(AlreadyJudged):
        services.response_regenerate(battle_id=battle.id, owner=battle.owner, label="a")
