"""Pools by size, licence and topic: who is in them, and that a battle confined to one stays in it."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from rest_framework.test import APIClient

from battles import services
from battles.errors import ModelsInvalid, PoolInvalid, TooFewModels
from battles.models import Battle, Pool, Redraw
from providers.adapters.base import ErrorKind, ProviderError
from providers.models import LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db


def pool(slug: str = "small", **fields: Any) -> Pool:
    return Pool.objects.create(slug=slug, name=slug.title(), **fields)


def names(models: list[LanguageModel]) -> set[str]:
    return {model.slug for model in models}


def test_a_pool_holds_the_active_models_that_fit_every_line() -> None:
    factories.language_model("tiny", size=0.1, licence="MIT", tags=["coding"])
    factories.language_model("seven", size=7, licence="MIT", tags=["coding", "maths"])
    factories.language_model("eight", size=8, licence="Apache 2.0", tags=["maths"])
    factories.language_model("gone", size=8, licence="MIT", status=LanguageModel.Status.RETIRED)
    factories.language_model("unknown")
    assert names(pool("all").members()) == {"tiny", "seven", "eight", "unknown"}
    assert names(pool("below-8", size_max=8).members()) == {"tiny", "seven"}
    assert names(pool("from-7", size_min=7).members()) == {"seven", "eight"}
    assert names(pool("free", licences=["MIT", "Apache 2.0"], size_min=1).members()) == {"seven", "eight"}
    assert names(pool("maths", tags=["maths", "physics"]).members()) == {"seven", "eight"}


def test_a_pool_whose_sizes_cross_is_refused() -> None:
    with pytest.raises(ValidationError, match="smallest"):
        Pool(slug="x", name="x", size_min=8, size_max=8).full_clean()


def test_a_blind_battle_in_a_pool_draws_only_from_it_and_never_a_weight_of_zero() -> None:
    inside = {factories.language_model(size=1).pk for _ in range(3)}
    factories.language_model(size=70)
    factories.language_model(size=1, sampling_weight=0)
    pool(size_max=2)
    for _ in range(8):
        battle = services.battle_create(owner=factories.user(), pool="small")
        assert set(battle.sides.values_list("model_id", flat=True)) < inside
    lineup = services.battle_create(owner=factories.user(), mode="lineup", is_blind=True, count=3, pool="small")
    assert set(lineup.sides.values_list("model_id", flat=True)) == inside


def test_a_redraw_stays_in_the_pool() -> None:
    models = [factories.language_model(size=1) for _ in range(2)]
    outside = factories.language_model(size=70)
    pool(size_max=2)
    begun = services.battle_start(owner=factories.user(), prompt="Hello?", pool="small")
    error = ProviderError(ErrorKind.CONNECTION, "gone")
    assert services.side_redraw(response_id=begun.requests[0].response.id, error=error) is None
    third = factories.language_model(size=1)
    request = services.side_redraw(response_id=begun.requests[0].response.id, error=error)
    assert request is not None
    assert request.response.model == third
    assert outside.pk not in begun.battle.sides.values_list("model_id", flat=True)
    assert Redraw.objects.get().model in models


def test_a_redraw_forgets_the_chance_of_the_pair_that_did_not_come_about() -> None:
    for _ in range(3):
        factories.language_model()
    begun = services.battle_start(owner=factories.user(), prompt="Hello?")
    assert begun.battle.propensity == pytest.approx(1 / 3)
    services.side_redraw(response_id=begun.requests[0].response.id, error=ProviderError(ErrorKind.CONNECTION, "gone"))
    assert Battle.objects.get().propensity is None


@pytest.mark.parametrize(
    "given",
    [
        {"pool": "none-such"},
        {"pool": "small", "mode": "named", "models": ["one", "two"]},
        {"pool": "small", "models": ["one", "two"]},
        {"pool": "small", "mode": "lineup", "is_blind": False},
    ],
)
def test_a_pool_that_is_not_there_or_stands_beside_models_is_refused(given: dict[str, Any]) -> None:
    for slug in ("one", "two"):
        factories.language_model(slug)
    pool()
    with pytest.raises(PoolInvalid):
        services.battle_create(owner=factories.user(), **given)
    assert not Battle.objects.exists()


def test_a_pool_with_one_model_is_too_small() -> None:
    factories.language_model(size=1)
    factories.language_model(size=9)
    pool(size_max=2)
    with pytest.raises((TooFewModels, ModelsInvalid)):
        services.battle_create(owner=factories.user(), pool="small")


def test_programs_find_the_pools_in_which_two_can_meet() -> None:
    for slug in ("one", "two"):
        factories.language_model(slug, size=1)
    pool(size_max=2, description="Runs on a laptop.")
    pool("large", size_min=50)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {factories.api_key()[1]}")
    found = client.get("/api/v1/pools/").json()
    assert found == [{"slug": "small", "name": "Small", "description": "Runs on a laptop.", "models": ["one", "two"]}]


def test_the_page_offers_the_pools_in_which_two_can_meet(client: Client) -> None:
    for slug in ("one", "two"):
        factories.language_model(slug, size=1)
    pool(size_max=2)
    pool("large", size_min=50)
    client.force_login(factories.user())
    page = client.get("/battle/").content.decode()
    assert '<option value="small">Small</option>' in page
    assert "Large" not in page
