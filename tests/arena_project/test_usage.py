"""What a person has used: only their own, and nothing that names a model before the vote."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from arena_project.usage import usage_of
from battles import services as battles
from battles.models import Battle, Response
from providers.adapters.base import ErrorKind, ProviderError
from providers.models import LanguageModel, Usage
from providers.services import generation_note
from providers.usage_summary import Figures, usage_summary
from tests import factories
from tests.providers.records import ended, failed

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> factories.User:
    return factories.user()


@pytest.fixture
def page_of(client: Client) -> Callable[[factories.User], str]:
    def page(person: factories.User) -> str:
        client.force_login(person)
        return client.get(reverse("usage")).content.decode()

    return page


def asked(person: factories.User, model: LanguageModel, **fields: object) -> None:
    generation_note(model_id=model.pk, user_id=person.pk, record=ended(**fields))


def fought(person: factories.User, *models: LanguageModel, **fields: object) -> Battle:
    """A battle whose sides have answered, each at its own cost."""
    begun = battles.battle_start(owner=person, prompt="Hello?", models=[model.slug for model in models], **fields)
    for request in begun.requests:
        battles.response_save(response_id=request.response.id, record=ended())
    return begun.battle


def test_before_the_first_answer_the_page_says_what_will_be_here(
    person: factories.User, page_of: Callable[[factories.User], str]
) -> None:
    page = page_of(person)
    assert "Nothing used yet" in page
    assert "<svg class=" not in page.partition("<main")[2]


def test_the_page_adds_up_models_and_days_of_its_person_only(
    person: factories.User, page_of: Callable[[factories.User], str]
) -> None:
    mine, theirs = factories.language_model(name="Mine & yours"), factories.language_model(name="Theirs")
    asked(person, mine)
    asked(person, mine, cost=Decimal("0.02"))
    asked(factories.user(), theirs)
    page = page_of(person)
    assert "Mine &amp; yours" in page
    assert "Theirs" not in page
    assert "$0.0500" in page
    today = datetime.now(UTC)
    assert len(re.findall("<rect ", page)) == today.day


def test_yesterday_is_no_part_of_today_and_last_month_of_nothing(person: factories.User) -> None:
    model, now = factories.language_model(), timezone.now()
    asked(person, model)
    asked(person, model, finished_at=now.replace(day=1) - timedelta(days=1))
    summary = usage_summary(user_id=person.pk)
    assert summary.today.requests == summary.month.requests == 1
    assert summary.days[-1].figures.requests == 1
    assert summary.days[-1].height == max(day.height for day in summary.days) > 0


def test_a_blind_battle_is_left_out_until_the_vote(
    person: factories.User, page_of: Callable[[factories.User], str]
) -> None:
    models = factories.language_model(name="Zebrafish"), factories.language_model(name="Quokka")
    battle = fought(person, *models)
    page = page_of(person)
    assert "Zebrafish" not in page
    assert "Quokka" not in page
    assert "0.0300" not in page
    assert "2 answers in blind battles" in page
    assert Usage.objects.count() == 2, "the operator sees them at once"
    battles.preference_record(battle_id=battle.id, voter=person, choice="tie")
    page = page_of(person)
    assert "Zebrafish" in page
    assert "$0.0600" in page
    assert "left out here" not in page


def test_only_what_is_hidden_is_left_out_where_a_model_was_also_asked_by_name(person: factories.User) -> None:
    models = factories.language_model(), factories.language_model()
    fought(person, *models, mode=Battle.Mode.NAMED)
    fought(person, *models)
    summary = usage_of(person)
    assert [use.figures for use in summary.models] == [Figures(1, 0, 0, 10, 20, Decimal("0.03"))] * 2
    assert summary.concealed == 2


def test_a_model_that_was_drawn_failed_and_was_replaced_stays_hidden_too(person: factories.User) -> None:
    models = [factories.language_model() for _ in range(3)]
    begun = battles.battle_start(owner=person, prompt="Hello?")
    first, second = begun.requests
    assert battles.side_redraw(response_id=first.response.id, error=ProviderError(ErrorKind.UPSTREAM))
    battles.response_save(response_id=first.response.id, record=ended())
    battles.response_save(response_id=second.response.id, record=failed())
    assert Usage.objects.count() == len(models)
    assert usage_of(person).models == []
    assert usage_of(person).month == Figures()


def test_a_hidden_battle_that_was_deleted_stays_hidden(person: factories.User) -> None:
    battle = fought(person, factories.language_model(), factories.language_model())
    battles.battle_delete(battle_id=battle.id, owner=person)
    assert usage_of(person).models == []


def test_the_budget_is_shown_with_a_warning_from_80_percent_and_an_end(
    page_of: Callable[[factories.User], str], client: Client
) -> None:
    person, model = factories.user(monthly_budget=Decimal(1)), factories.language_model()
    factories.language_model()
    asked(person, model, cost=Decimal("0.50"))
    assert "50 % of 1.00 US dollars" in page_of(person)
    assert "more than 80 %" not in page_of(person)
    asked(person, model, cost=Decimal("0.35"))
    battle = factories.battle(person)
    for page in (page_of(person), *(client.get(url).content.decode() for url in addresses(battle))):
        assert "more than 80 %" in page
    asked(person, model, cost=Decimal("0.15"))
    for page in (page_of(person), *(client.get(url).content.decode() for url in addresses(battle))):
        assert "Your budget is spent" in page


def addresses(battle: Battle) -> list[str]:
    return [reverse("battles:new"), reverse("battles:detail", args=[battle.id])]


@pytest.mark.parametrize("count", [1, 12])
def test_the_page_costs_the_same_queries_however_much_there_is(
    person: factories.User,
    client: Client,
    django_assert_max_num_queries: DjangoAssertNumQueries,
    count: int,
) -> None:
    for _ in range(count):
        asked(person, factories.language_model())
    client.force_login(person)
    with django_assert_max_num_queries(7):
        assert client.get(reverse("usage")).status_code == 200


def test_the_api_says_the_same(api_client: Callable[..., APIClient]) -> None:
    person, model = factories.user(monthly_budget=Decimal(1)), factories.language_model("mine")
    asked(person, model, cost=Decimal("0.90"))
    fought(person, factories.language_model("zebrafish"), factories.language_model("quokka"))
    answer = api_client(person, scopes=("read",)).get("/api/v1/usage/")
    assert answer.status_code == 200
    body = answer.json()
    assert [use["slug"] for use in body["models"]] == ["mine"]
    assert body["month"] == body["today"] == body["models"][0]["figures"]
    assert body["month"]["cost"] == 0.9
    assert (body["budget"]["limit"], body["budget"]["is_low"], body["budget"]["is_spent"]) == (1.0, True, False)
    assert body["concealed"] == 2
    assert "zebrafish" not in answer.content.decode()
    assert api_client(person, scopes=("vote",)).get("/api/v1/usage/").status_code == 403


def test_an_answer_that_is_still_written_is_counted_nowhere(person: factories.User) -> None:
    battles.battle_start(
        owner=person, prompt="Hello?", models=[factories.language_model().slug, factories.language_model().slug]
    )
    assert Response.objects.filter(status="waiting").count() == 2
    assert usage_of(person).concealed == 0
