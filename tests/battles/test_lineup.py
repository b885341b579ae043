"""One prompt to several models: who takes part, what may be chosen, and what follows from it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from battles import judging, services
from battles.errors import AlreadyVoted, ChoiceInvalid, ModelsInvalid, NotVotable, TooLate
from battles.models import Battle, Preference, Response, Side, Turn
from battles.style import style_of
from leaderboard.models import Comparison
from tests import factories

pytestmark = pytest.mark.django_db


def lineup(labels: str = "abcd", *, failed: str = "", live: str = "", **fields: Any) -> Battle:
    """A line-up whose sides have answered, but those in `failed`, or are still writing, in `live`."""
    values: dict[str, Any] = {"mode": Battle.Mode.LINEUP, "is_blind": False} | fields
    battle = Battle.objects.create(owner=values.pop("owner", None) or factories.user(), **values)
    turn = Turn.objects.create(battle=battle, number=1, prompt="Why?")
    for label in labels:
        side = Side.objects.create(battle=battle, model=factories.language_model(), label=label)
        status = Response.Status.FAILED if label in failed else Response.Status.FINISHED
        status = Response.Status.STREAMING if label in live else status
        text = "" if label in failed else f"# Answer {label}"
        Response.objects.create(
            turn=turn, side=side, model=side.model, status=status, text=text, finished_at=timezone.now()
        )
    return battle


def judged(battle: Battle, **choice: Any) -> dict[str, str]:
    """The outcomes that a vote leads to, by pair of labels."""
    services.preference_record(battle_id=battle.pk, voter=battle.owner, **choice)
    label = {side.model_id: side.label for side in battle.sides.all()}
    return {label[c.model_a_id] + label[c.model_b_id]: c.outcome for c in Comparison.objects.all()}


def test_a_named_lineup_stands_as_it_was_given() -> None:
    models = [factories.language_model(f"m{number}") for number in range(4)]
    battle = services.battle_create(owner=factories.user(), mode="lineup", models=["m2", "m0", "m3"])
    assert [side.model for side in battle.sides.all()] == [models[2], models[0], models[3]]
    assert not battle.is_blind


def test_without_models_everybody_takes_part() -> None:
    for _ in range(5):
        factories.language_model()
    factories.language_model(status="hidden")
    assert services.battle_create(owner=factories.user(), mode="lineup").sides.count() == 5


def test_a_blind_lineup_draws_as_many_as_were_asked_for() -> None:
    for _ in range(6):
        factories.language_model()
    battle = services.battle_create(owner=factories.user(), mode="lineup", is_blind=True, count=3)
    assert [side.label for side in battle.sides.all()] == ["a", "b", "c"]
    assert battle.is_blind


@pytest.mark.parametrize(
    "given", [{"models": ["m0"]}, {"models": ["m0", "nobody"]}, {"count": 9}, {"models": ["m0", "m1"], "count": 3}]
)
def test_a_lineup_that_cannot_be_is_refused(given: dict[str, Any]) -> None:
    for number in range(3):
        factories.language_model(f"m{number}")
    with pytest.raises(ModelsInvalid):
        services.battle_create(owner=factories.user(), mode="lineup", **given)
    assert not Battle.objects.exists()


def test_the_best_beats_every_other_that_answered() -> None:
    assert judged(lineup(failed="c"), choice="b") == {"ab": "b", "bd": "a"}


def test_a_ranking_with_ties_expands_into_its_pairs() -> None:
    battle = lineup()
    assert judged(battle, ranking=["d", ["a", "b"]]) == {"ab": "tie", "ad": "b", "bd": "b"}
    preference = Preference.objects.get()
    assert (preference.choice, preference.ranking, preference.winner) == ("ranking", [["d"], ["a", "b"]], None)
    assert preference.decided_ms is not None


def test_all_pairs_of_one_vote_are_one_ballot() -> None:
    battle = lineup()
    judged(battle, ranking=["d", "a", "b", "c"])
    assert set(Comparison.objects.values_list("source_kind", "source_id")) == {("battle", str(battle.pk))}
    assert set(Comparison.objects.values_list("mode", "is_blind")) == {("lineup", False)}


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"choice": "c"}, "Side c has no answer"),
        ({"choice": "x"}, "Unknown choice. Known are: a, b, c, d, tie, both_bad"),
        ({"ranking": ["a", "c"]}, "Side c has no answer"),
        ({"ranking": ["a", "a"]}, "twice"),
        ({"ranking": ["a", "z"]}, "no side z"),
        ({}, "Unknown choice"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_and_reveals_nothing(choice: dict[str, Any], said: str) -> None:
    battle = lineup(failed="c", is_blind=True)
    with pytest.raises(ChoiceInvalid, match=said):
        judged(battle, **choice)
    battle.refresh_from_db()
    assert battle.revealed_at is None
    assert not Preference.objects.exists()


def test_one_failing_model_holds_up_no_vote_and_one_answer_is_not_enough() -> None:
    assert judged(lineup("abc", failed="c"), choice="tie") == {"ab": "tie"}
    with pytest.raises(NotVotable):
        judged(lineup("abc", failed="bc"), choice="a")
    with pytest.raises(NotVotable):
        judged(lineup("abc", live="c"), choice="a")


def test_a_ranking_of_a_pair_is_kept_as_the_winner_that_it_is() -> None:
    battle = factories.battle()
    services.preference_record(battle_id=battle.pk, voter=battle.owner, ranking=["b", "a"])
    preference = Preference.objects.get()
    assert (preference.choice, preference.winner and preference.winner.label) == ("winner", "b")


def test_what_follows_can_be_made_anew_and_changes_nothing_when_nothing_changed() -> None:
    judged(lineup(), ranking=["d", ["a", "b"], "c"])
    before = list(Comparison.objects.order_by("pk").values())
    assert services.comparisons_rebuild() == (0, 0, 0)
    assert list(Comparison.objects.order_by("pk").values()) == before
    Comparison.objects.filter(pk=before[0]["id"]).update(outcome="both_bad")
    Comparison.objects.filter(pk=before[1]["id"]).delete()
    Comparison.objects.create(
        **{k: v for k, v in before[2].items() if k not in ("id", "source_id")}, source_id="no such battle"
    )
    assert services.comparisons_rebuild() == (1, 1, 1)
    own = [{k: v for k, v in row.items() if k != "id"} for row in before]
    after = Comparison.objects.order_by("model_a_id", "model_b_id").values()
    assert sorted(own, key=str) == sorted(({k: v for k, v in row.items() if k != "id"} for row in after), key=str)


def test_a_vote_is_taken_back_within_seconds_and_then_counts_no_more() -> None:
    battle = lineup()
    judged(battle, choice="a")
    services.preference_withdraw(battle_id=battle.pk, voter=battle.owner)
    assert set(Comparison.objects.values_list("exclusion", flat=True)) == {"withdrawn"}
    assert services.comparisons_rebuild() == (0, 0, 0)
    with pytest.raises(AlreadyVoted):
        judged(battle, choice="b")


def test_a_vote_is_not_taken_back_later() -> None:
    battle = lineup()
    judged(battle, choice="a")
    Preference.objects.update(created_at=timezone.now() - judging.WITHDRAW_WITHIN * 2)
    with pytest.raises(TooLate):
        services.preference_withdraw(battle_id=battle.pk, voter=battle.owner)


def test_how_two_answers_differ_in_form_is_kept() -> None:
    plain, rich = "Yes.", "# Yes\n\n**Indeed**:\n\n- one\n- two\n\n```\n# no header\n```"
    style = style_of(plain, rich)
    assert style.length < 0
    assert (style.headers, style.bold, style.lists) == (-1.0, -1.0, -1.0)
    assert style_of(rich, rich) == style_of("", "")
    judged(lineup(), choice="a")
    assert Comparison.objects.filter(style_headers=0.0).count() == 3


def test_the_api_makes_a_blind_lineup_and_takes_a_ranking(api_client: Callable[..., APIClient]) -> None:
    owner = factories.user()
    battle = lineup(owner=owner, is_blind=True)
    client = api_client(owner, scopes=("read", "run", "vote"))
    shown = client.get(f"/api/v1/battles/{battle.pk}/").json()
    assert [side["name"] for side in shown["sides"]] == [f"Assistant {label}" for label in "ABCD"]
    assert all(side["model"] is None for side in shown["sides"])
    answer = client.post(f"/api/v1/battles/{battle.pk}/preference/", {"ranking": ["b", ["a", "c"]]}, format="json")
    assert answer.status_code == 201
    assert answer.json()["preference"]["ranking"] == [["b"], ["a", "c"]]
    assert all(side["model"] for side in answer.json()["sides"])
    answer = client.post(f"/api/v1/battles/{battle.pk}/preference/withdraw/")
    assert answer.json()["preference"]["is_withdrawn"]
    for wrong in ({"ranking": [1]}, {"winner": "a", "ranking": ["a", "b"]}, {}, {"ranking": ["a", {"b": 1}]}):
        assert client.post(f"/api/v1/battles/{battle.pk}/preference/", wrong, format="json").status_code == 400
