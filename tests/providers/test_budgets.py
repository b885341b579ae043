"""Budgets of people and endpoints: a warning at 80%, and at 100% nothing more is asked until the next month."""

import logging
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from battles import services as battles
from battles.errors import SideGone
from battles.models import Battle
from providers.errors import BudgetSpent, EndpointBudgetSpent
from providers.models import LanguageModel, Usage
from providers.services import budget_check, endpoint_budget_refresh, generation_note
from providers.usage import budget_of, month_after
from tests import factories
from tests.providers.records import ended

pytestmark = pytest.mark.django_db


def spend(person: factories.User | None, model: LanguageModel, dollars: str, **fields: object) -> None:
    record = ended(cost=Decimal(dollars), **fields)
    generation_note(model_id=model.pk, user_id=person.pk if person else None, record=record)


@pytest.fixture
def priced() -> LanguageModel:
    return factories.language_model(endpoint=factories.endpoint("priced", monthly_budget="1.00"))


def test_without_a_budget_nothing_is_refused() -> None:
    person, model = factories.user(), factories.language_model()
    spend(person, model, "1000")
    budget_check(user_id=person.pk, contenders=[model])
    assert budget_of(person.pk) is None


def test_a_persons_own_budget_goes_before_everybodys(settings: Settings) -> None:
    settings.USER_MONTHLY_BUDGET = Decimal("1.00")
    model = factories.language_model()
    rich, usual = factories.user(monthly_budget=Decimal(5)), factories.user()
    for person in (rich, usual):
        spend(person, model, "1.00")
    budget_check(user_id=rich.pk, contenders=[model])
    with pytest.raises(BudgetSpent, match=r"Your budget of 1\.00 US dollars a month is spent\. You can ask again from"):
        budget_check(user_id=usual.pk, contenders=[model])


def test_last_months_costs_are_forgotten() -> None:
    person, model = factories.user(monthly_budget=Decimal(1)), factories.language_model()
    last_month = timezone.now().replace(day=1) - timedelta(days=1)
    spend(person, model, "7.00", finished_at=last_month)
    budget_check(user_id=person.pk, contenders=[model])
    assert month_after(last_month) <= timezone.now() < month_after(timezone.now())


def test_a_spent_budget_refuses_a_battle_before_anything_is_asked(api_client: Callable[..., APIClient]) -> None:
    person = factories.user(monthly_budget=Decimal("0.50"))
    model, _ = factories.language_model(), factories.language_model()
    spend(person, model, "0.50")
    answer = api_client(person, scopes=("run",)).post("/api/v1/battles/", {"prompt": "Hello?"}, format="json")
    assert answer.status_code == 402
    assert answer.json()["error"]["code"] == "budget_spent"
    assert not Battle.objects.exists()


def test_a_spent_budget_refuses_to_write_an_answer_anew(api_client: Callable[..., APIClient]) -> None:
    person = factories.user(monthly_budget=Decimal("0.50"))
    battle = factories.battle(person)
    spend(person, battle.sides.all()[0].model, "0.60")
    with pytest.raises(BudgetSpent):
        battles.response_regenerate(battle_id=battle.id, owner=person, label="a")


def test_the_operator_reads_once_a_month_that_a_person_is_near_the_end(caplog: pytest.LogCaptureFixture) -> None:
    person, model = factories.user(monthly_budget=Decimal(1)), factories.language_model()
    spend(person, model, "0.85")
    with caplog.at_level(logging.WARNING, "providers.usage"):
        for _ in range(3):
            budget_check(user_id=person.pk, contenders=[model])
    assert [record.getMessage() for record in caplog.records] == [
        f"Person {person.pk} has spent 0.85 of 1.00 US dollars this month"
    ]


def test_the_models_of_a_spent_endpoint_are_not_drawn_and_the_operator_is_told_once(
    priced: LanguageModel, caplog: pytest.LogCaptureFixture
) -> None:
    free = [factories.language_model() for _ in range(2)]
    with caplog.at_level(logging.WARNING, "providers.usage"):
        spend(None, priced, "0.50")
        assert not caplog.records
        spend(None, priced, "0.35")
        spend(None, priced, "0.01")
        assert priced in LanguageModel.objects.available()
        spend(None, priced, "0.20")
        spend(None, priced, "0.20")
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert said[0] == "Endpoint priced has spent 0.85 of 1.00 US dollars this month"
    assert said[1].startswith("The budget of endpoint priced is spent until")
    assert set(LanguageModel.objects.available()) == set(free)
    priced.refresh_from_db()
    assert "budget" in priced.away_because


def test_a_named_battle_says_that_the_endpoints_budget_is_spent(priced: LanguageModel) -> None:
    spend(None, priced, "1.00")
    models = [priced.slug, factories.language_model().slug]
    with pytest.raises(EndpointBudgetSpent, match="Choose others"):
        battles.battle_start(owner=factories.user(), prompt="Hello?", mode=Battle.Mode.NAMED, models=models)
    assert not Battle.objects.exists()


def test_a_blind_battle_only_says_that_it_cannot_go_on(priced: LanguageModel) -> None:
    battle = factories.battle(models=[priced, factories.language_model()])
    spend(None, priced, "1.00")
    with pytest.raises(SideGone) as refusal:
        battles.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="And then?")
    assert "budget" not in str(refusal.value)


def test_a_blind_battle_draws_from_its_pool_who_still_has_money(priced: LanguageModel) -> None:
    spend(None, priced, "1.00")
    others = [factories.language_model().slug for _ in range(2)]
    for _ in range(5):
        begun = battles.battle_start(owner=factories.user(), prompt="Hello?", models=[priced.slug, *others])
        assert {request.response.model.slug for request in begun.requests} == set(others)
    with pytest.raises(EndpointBudgetSpent):
        battles.battle_start(owner=factories.user(), prompt="Hello?", models=[priced.slug, others[0]])


def test_a_raised_budget_and_a_new_month_bring_the_models_back(priced: LanguageModel) -> None:
    spend(None, priced, "1.00")
    endpoint = priced.endpoint
    assert endpoint is not None
    endpoint.refresh_from_db()
    endpoint.monthly_budget = Decimal(2)
    endpoint.save()
    endpoint_budget_refresh(endpoint=endpoint)
    assert priced in LanguageModel.objects.available()
    spend(None, priced, "1.00")
    assert priced not in LanguageModel.objects.available()
    type(endpoint).objects.update(spent_until=timezone.now())
    assert priced in LanguageModel.objects.available()


def test_what_was_spent_elsewhere_is_not_this_endpoints(priced: LanguageModel) -> None:
    spend(None, factories.language_model(), "5.00")
    spend(None, priced, "0.10")
    assert Usage.objects.count() == 2
    assert priced in LanguageModel.objects.available()
