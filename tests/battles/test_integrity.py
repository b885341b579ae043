"""Votes that do not count: taken without a word, kept with a reason, and left out of the ratings."""

import pytest

from battles import selectors, services, state
from battles.models import Battle, Preference, Response
from leaderboard.models import Comparison
from tests import factories

pytestmark = pytest.mark.django_db


def vote(battle: Battle) -> tuple[str, str]:
    """The reasons that the vote and its comparison carry."""
    preference = services.preference_record(battle_id=battle.pk, voter=battle.owner, choice="a")
    return preference.exclusion, Comparison.objects.get(source_id=str(battle.pk)).exclusion


def test_a_vote_counts_where_nothing_is_against_it() -> None:
    assert vote(factories.battle()) == ("", "")
    assert Comparison.objects.counted().count() == 1


def test_a_vote_after_a_model_named_itself_does_not_count() -> None:
    battle = factories.battle()
    Response.objects.filter(side__label="b", side__battle=battle).update(text="I am an AI assistant made by Anthropic.")
    assert vote(battle) == ("named_itself", "named_itself")
    assert not Comparison.objects.counted().exists()


def test_a_model_is_known_by_its_name_in_the_catalogue() -> None:
    battle = factories.battle(models=[factories.language_model(name="Pangolin Large"), factories.language_model()])
    Response.objects.filter(side__label="a", side__battle=battle).update(text="I am Pangolin Large, an AI model.")
    assert vote(battle)[0] == "named_itself"


def test_a_vote_on_a_prompt_that_asks_who_it_is_does_not_count() -> None:
    assert vote(factories.battle(prompts=["Why is the sky blue?", "Which model are you?"]))[0] == "asked_identity"


def test_where_names_are_known_nothing_is_left_out_for_them() -> None:
    assert vote(factories.battle(mode=Battle.Mode.NAMED, prompts=["Who are you?"]))[0] == ""


def test_the_same_models_on_the_same_prompt_count_once_a_person() -> None:
    models = [factories.language_model(), factories.language_model()]
    owner = factories.user()
    assert vote(factories.battle(owner, models=models))[0] == ""
    assert vote(factories.battle(owner, models=models[::-1]))[0] == "duplicate"
    assert vote(factories.battle(models=models))[0] == ""
    assert vote(factories.battle(owner, models=models, prompts=["Another?"]))[0] == ""


def test_the_voter_sees_no_difference() -> None:
    owner = factories.user()
    seen = []
    for prompt in ("Why is the sky blue?", "Who are you?"):
        battle = factories.battle(owner, prompts=[prompt])
        vote(battle)
        shown = state.battle_state(selectors.battle_whole(battle_id=battle.pk, viewer=owner))["preference"]
        seen.append({name: value for name, value in shown.items() if name != "created_at"})
    assert seen[0] == seen[1]
    assert set(Preference.objects.values_list("exclusion", flat=True)) == {"", "asked_identity"}


def test_a_vote_that_does_not_count_is_not_counted_after_a_rebuild_either() -> None:
    vote(factories.battle(prompts=["Who are you?"]))
    assert services.comparisons_rebuild() == (0, 0, 0)
    Preference.objects.update(exclusion="")  # an administrator reverses it
    assert services.comparisons_rebuild() == (0, 1, 0)
    assert Comparison.objects.counted().count() == 1
