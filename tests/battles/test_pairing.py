"""Blind battles draw their models where the next vote tells most, and note the chance with which they did."""

from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from battles import services
from battles.contenders import contenders_of
from battles.models import Battle
from leaderboard.models import Pairing
from providers.models import LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db


def row(models: list[LanguageModel], scores: bytes | None = None, **fields: Any) -> None:
    """The stored table: the first two meet 50 times as often as any other pair, unless `scores` says otherwise."""

    n = len(models)
    table = np.ones((n, n), dtype="<f4") - np.eye(n, dtype="<f4")
    table[0, 1] = table[1, 0] = 50
    values = {"votes": [1000] * n, "computed_at": timezone.now()} | fields
    Pairing.objects.create(pk=1, model_ids=[m.pk for m in models], scores=scores or table.tobytes(), **values)


def pairs_drawn(times: int, **fields: Any) -> Counter[frozenset[int]]:
    """Pairs that so many people got."""
    battles = [services.battle_create(owner=factories.user(), **fields) for _ in range(times)]
    return Counter(frozenset(battle.sides.values_list("model_id", flat=True)) for battle in battles)


def test_the_stored_table_says_who_meets_whom() -> None:
    models = [factories.language_model() for _ in range(4)]
    row(models)
    drawn = pairs_drawn(30)
    assert drawn[frozenset(model.pk for model in models[:2])] >= 18


def test_a_battle_notes_the_chance_of_its_pair() -> None:
    models = [factories.language_model() for _ in range(4)]
    row(models)
    for _ in range(3):
        battle = services.battle_create(owner=factories.user())
        is_first = set(battle.sides.values_list("model_id", flat=True)) == {model.pk for model in models[:2]}
        assert battle.propensity == pytest.approx(50 / 55 if is_first else 1 / 55)


def test_nobody_gets_the_same_pair_twice_in_a_row() -> None:
    models = [factories.language_model() for _ in range(3)]
    row(models)
    owner, last = factories.user(), frozenset[int]()
    for _ in range(12):
        battle = services.battle_create(owner=owner)
        pair = frozenset(battle.sides.values_list("model_id", flat=True))
        assert pair != last
        last = pair


def test_two_models_meet_again_and_again() -> None:
    for _ in range(2):
        factories.language_model()
    owner = factories.user()
    assert [services.battle_create(owner=owner).propensity for _ in range(2)] == [1.0, 1.0]


def test_models_that_are_away_lend_their_share_to_the_others() -> None:
    models = [factories.language_model() for _ in range(4)]
    row(models)
    LanguageModel.objects.filter(pk=models[0].pk).update(resting_until=timezone.now() + timedelta(hours=1))
    assert services.battle_create(owner=factories.user()).propensity == pytest.approx(1 / 3)


def test_a_pool_is_drawn_from_by_the_same_table() -> None:
    models = [factories.language_model() for _ in range(4)]
    row(models)
    battle = services.battle_create(owner=factories.user(), models=[models[0].slug, models[1].slug, models[3].slug])
    assert battle.propensity in (pytest.approx(50 / 52), pytest.approx(1 / 52))


def test_a_model_that_the_table_does_not_know_is_new_and_comes_more_often(settings: Any) -> None:
    settings.PAIRING_BOOST, settings.PAIRING_BOOST_VOTES = 100.0, 50
    models = [factories.language_model() for _ in range(3)]
    row(models[:2], scores=np.array([0, 1, 1, 0], "<f4").tobytes())
    battle = services.battle_create(owner=factories.user())
    is_new = battle.sides.filter(model=models[2]).exists()
    assert battle.propensity == pytest.approx(100 / 201 if is_new else 1 / 201)


def test_an_old_table_is_not_believed() -> None:
    models = [factories.language_model() for _ in range(4)]
    row(models, computed_at=timezone.now() - timedelta(days=8))
    assert services.battle_create(owner=factories.user()).propensity == pytest.approx(1 / 6)


@pytest.mark.parametrize(("pairing", "chance"), [("uniform", 1 / 3), ("weighted", 2 / 5)])
def test_other_pairings_ignore_the_table(settings: Any, pairing: str, chance: float) -> None:
    settings.PAIRING = pairing
    models = [factories.language_model(sampling_weight=weight) for weight in (1, 1, 2)]
    row(models)
    for _ in range(3):
        battle = services.battle_create(owner=factories.user())
        has_heavy = battle.sides.filter(model=models[2]).exists()
        assert battle.propensity == pytest.approx(chance if has_heavy or pairing == "uniform" else 1 / 5)


def test_a_named_battle_was_not_drawn_and_has_no_chance() -> None:
    slugs = [factories.language_model().slug for _ in range(2)]
    battle = services.battle_create(owner=factories.user(), mode=Battle.Mode.NAMED, models=slugs)
    assert battle.propensity is None


def test_models_that_cannot_hold_the_prompt_are_not_drawn() -> None:
    small = factories.language_model(context_window=10)
    for _ in range(2):
        factories.language_model(context_window=10_000)
    drawn = pairs_drawn(5, characters=800)
    assert not any(small.pk in pair for pair in drawn)


def test_a_blind_draw_reads_the_models_the_table_and_the_last_pair_and_nothing_else(
    django_assert_num_queries: Any,
) -> None:
    row([factories.language_model() for _ in range(4)])
    owner = factories.user()
    with django_assert_num_queries(3):
        contenders_of(owner=owner, mode="blind", is_blind=True, slugs=[], count=None)
