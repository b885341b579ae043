"""Answers that nobody writes any more, because their process died: they end, and what they took by then counts."""

from decimal import Decimal

import pytest

from battles import services
from battles.models import Battle, Response
from providers.models import Usage
from tests import factories
from tests.providers.records import ended

pytestmark = pytest.mark.django_db


@pytest.fixture
def battle() -> Battle:
    row = factories.battle(status=Response.Status.STREAMING)
    Response.objects.update(text="Half an ans", cost=Decimal("0.02"), first_token_ms=77)
    return row


def test_what_a_lost_answer_took_is_added_up_once(battle: Battle) -> None:
    assert services.responses_sweep() == 2
    assert services.responses_sweep() == 0
    assert {response.status for response in Response.objects.all()} == {"interrupted"}
    rows = [(row.requests, row.failures, row.cost) for row in Usage.objects.filter(user=battle.owner)]
    assert rows == [(1, 0, Decimal("0.02"))] * 2


def test_an_end_is_added_up_once_however_often_it_is_stored(battle: Battle) -> None:
    """Storing is tried again where the database did not answer, although it may have stored all the same."""
    response = Response.objects.all()[0]
    for _ in range(2):
        services.response_save(response_id=response.id, record=ended(text="A whole answer."))
    response.refresh_from_db()
    assert response.text == "A whole answer."
    assert [(row.requests, row.cost) for row in Usage.objects.all()] == [(1, Decimal("0.03"))]


def test_an_answer_that_was_given_up_too_early_is_stored_after_all_and_added_up_once(battle: Battle) -> None:
    services.responses_sweep()
    response = Response.objects.all()[0]
    services.response_save(response_id=response.id, record=ended(text="A whole answer."))
    response.refresh_from_db()
    assert (response.status, response.text) == ("finished", "A whole answer.")
    assert Usage.objects.get(model=response.model).requests == 1
