"""The pages of conversations take as many queries for many rows as for few."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from conversations.models import ConversationPair, Scenario
from conversations.services import scenarios_seed
from tests import factories
from tests.conversations import rows

pytestmark = pytest.mark.django_db
LINES = [f"Line {number}." for number in range(30)]


def test_the_list_takes_no_query_for_each_conversation(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    owner = factories.user()
    for _ in range(21):
        rows.conversation(owner)
    client.force_login(owner)
    with django_assert_max_num_queries(7):
        page = client.get("/conversations/").content.decode()
    assert page.count('class="history-row"') == 20
    assert page.count("2 of 10 turns") == 20
    assert client.get("/conversations/?page=2").content.decode().count('class="history-row"') == 1


@pytest.mark.parametrize("piece", ["", "measures/", "analyses/"])
def test_a_conversation_takes_no_query_for_each_turn(
    client: Client, piece: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    made = rows.conversation(lines=LINES)
    client.force_login(made.owner)
    with django_assert_max_num_queries(16):
        assert client.get(f"/conversations/{made.pk}/{piece}").status_code == 200


def test_the_scenarios_and_what_was_compared_take_no_query_for_each(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    scenarios_seed()
    owner = factories.user()
    made = [rows.conversation(owner) for _ in range(4)]
    models = [conversation.agents.all()[0].model_id for conversation in made]
    for at in range(3):
        ConversationPair.objects.create(
            voter=owner, conversation_a=made[at], conversation_b=made[at + 1], key=str(at), choice="a",
            model_a_id=models[at], model_b_id=models[at + 1], decided_at=made[0].created_at,
        )  # fmt: skip
    client.force_login(owner)
    with django_assert_max_num_queries(6):
        page = client.get("/conversations/scenarios/").content.decode()
    assert all(one.name in page for one in Scenario.objects.filter(name__in=["A used bicycle", "Teaching fractions"]))
    with django_assert_max_num_queries(10):
        assert client.get("/conversations/compare/").content.decode().count('<th scope="row">') == 3
