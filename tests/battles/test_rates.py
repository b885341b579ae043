"""How often each model is drawn, as the methodology tells it."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from battles.models import Battle
from battles.rates import sampling_rates
from providers.models import LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db


def test_the_shares_are_of_the_blind_battles_of_the_last_30_days() -> None:
    one, two, three = (factories.language_model(slug) for slug in ("one", "two", "three"))
    now = timezone.now()
    factories.battle(models=[one, two], revealed_at=now)
    factories.battle(models=[one, three], revealed_at=now)
    factories.battle(models=[two, three], mode=Battle.Mode.NAMED, revealed_at=now)
    old = factories.battle(models=[two, three], revealed_at=now)
    Battle.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))
    rates = {rate.model.slug: rate for rate in sampling_rates()}
    assert {slug: rate.share for slug, rate in rates.items()} == {"one": 1.0, "two": 0.5, "three": 0.5}


def test_a_blind_battle_without_a_vote_moves_no_figure_that_anybody_may_read() -> None:
    factories.language_model()
    before = factories.battle(revealed_at=timezone.now())
    rates = sampling_rates()
    factories.battle(models=[side.model for side in before.sides.all()])
    assert sampling_rates() == rates


def test_the_methodology_says_how_often_each_model_is_drawn_and_since_when(client: Client) -> None:
    factories.language_model("one", name="Number <One>")
    factories.language_model("gone", name="Gone", status=LanguageModel.Status.RETIRED)
    page = client.get("/leaderboard/methodology/").content.decode()
    assert "Number &lt;One&gt;" in page
    assert "Gone" in page


def test_the_chances_of_now_are_two_in_all_and_none_for_who_is_away_or_retired() -> None:
    here = [factories.language_model(sampling_weight=weight) for weight in (1, 1, 2)]
    away = factories.language_model(resting_until=timezone.now() + timedelta(hours=1))
    retired = factories.language_model(status=LanguageModel.Status.RETIRED)
    factories.language_model("secret", status=LanguageModel.Status.HIDDEN)
    rates = {rate.model.slug: rate for rate in sampling_rates()}
    assert "secret" not in rates
    assert sum(rate.chance for rate in rates.values()) == pytest.approx(2)
    assert rates[here[2].slug].chance == pytest.approx(4 / 5)
    assert rates[away.slug].chance == rates[retired.slug].chance == 0
    assert rates[retired.slug].retired_at is not None
    assert rates[here[0].slug].retired_at is None


def test_an_arena_without_models_or_battles_has_rates_too() -> None:
    assert sampling_rates() == []
    factories.language_model()
    assert [(rate.share, rate.chance) for rate in sampling_rates()] == [(None, 0.0)]


def test_the_rates_take_as_many_queries_for_many_models_as_for_few(django_assert_max_num_queries: Any) -> None:
    for _ in range(6):
        factories.battle()
    with django_assert_max_num_queries(5):
        sampling_rates()


def test_a_model_that_comes_back_was_not_retired() -> None:
    model = factories.language_model()
    model.status = LanguageModel.Status.RETIRED
    model.save(update_fields=["status"])
    model.refresh_from_db()
    assert model.retired_at is not None
    model.status = LanguageModel.Status.ACTIVE
    model.save()
    assert model.retired_at is None
