"""The pages of battles: what they say, and what they cost."""

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from battles import services
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def client_of_owner() -> tuple[Client, factories.User]:
    owner = factories.user()
    client = Client()
    client.force_login(owner)
    return client, owner


def test_the_first_page_says_which_models_are_away(client_of_owner: tuple[Client, factories.User]) -> None:
    client, _ = client_of_owner
    assert "The models cannot be reached right now" in client.get(reverse("battles:new")).content.decode()
    for _ in range(2):
        factories.language_model()
    page = client.get(reverse("battles:new")).content.decode()
    assert "Start the battle" in page
    assert "left out" not in page
    factories.language_model(endpoint=factories.endpoint(is_reachable=False))
    assert (
        "1 model cannot be reached at the moment and is left out."
        in client.get(reverse("battles:new")).content.decode()
    )


def test_the_history_shows_prompts_choices_and_names_only_after_the_vote(
    client_of_owner: tuple[Client, factories.User],
) -> None:
    client, owner = client_of_owner
    hidden = factories.battle(owner, prompts=["What is hidden?"])
    open_one = factories.battle(owner, prompts=["What is open?"])
    services.preference_record(battle_id=open_one.id, voter=owner, choice="b")
    page = client.get(reverse("battles:history")).content.decode()
    assert "What is hidden?" in page
    assert "What is open?" in page
    assert "You chose B" in page
    assert all(side.model.name not in page for side in hidden.sides.all())
    assert all(side.model.name in page for side in open_one.sides.all())


@pytest.mark.parametrize("turns", [1, 8])
def test_a_battle_costs_the_same_queries_however_long_it_is(
    client_of_owner: tuple[Client, factories.User],
    django_assert_max_num_queries: DjangoAssertNumQueries,
    turns: int,
) -> None:
    client, owner = client_of_owner
    battle = factories.battle(owner, prompts=[f"Question {number}?" for number in range(turns)])
    services.preference_record(battle_id=battle.id, voter=owner, choice="a")
    with django_assert_max_num_queries(14):
        assert client.get(reverse("battles:detail", args=[battle.id])).status_code == 200


@pytest.mark.parametrize("battles", [1, 15])
def test_the_history_costs_the_same_queries_however_many_battles_it_shows(
    client_of_owner: tuple[Client, factories.User],
    django_assert_max_num_queries: DjangoAssertNumQueries,
    battles: int,
) -> None:
    client, owner = client_of_owner
    for _ in range(battles):
        factories.battle(owner)
    with django_assert_max_num_queries(9):
        assert client.get(reverse("battles:history")).status_code == 200


def test_the_shared_page_shows_what_was_there_when_it_was_shared() -> None:
    battle = factories.battle(prompts=["First?"])
    services.preference_record(battle_id=battle.id, voter=battle.owner, choice="a")
    shared = services.battle_share(battle_id=battle.id, owner=battle.owner)
    services.turn_begin(battle_id=battle.id, owner=battle.owner, prompt="Private afterthought")
    page = Client().get(reverse("battles:shared", args=[shared.share_token])).content.decode()
    assert "First?" in page
    assert "Private afterthought" not in page


def test_a_deleted_battle_is_gone_with_its_link_until_it_is_restored(
    client_of_owner: tuple[Client, factories.User],
) -> None:
    client, owner = client_of_owner
    battle = factories.battle(owner)
    services.preference_record(battle_id=battle.id, voter=owner, choice="a")
    link = reverse("battles:shared", args=[services.battle_share(battle_id=battle.id, owner=owner).share_token])
    detail = reverse("battles:detail", args=[battle.id])
    client.post(reverse("battles:delete", args=[battle.id]))
    assert (client.get(detail).status_code, client.get(link).status_code) == (404, 404)
    client.post(reverse("battles:restore", args=[battle.id]))
    assert (client.get(detail).status_code, client.get(link).status_code) == (200, 200)


@pytest.mark.parametrize("path", ["/s/%00/", "/history/?q=%00", "/api/v1/battles/?search=%00", "/s/x/"])
def test_a_nul_in_an_address_is_no_defect(client_of_owner: tuple[Client, factories.User], path: str) -> None:
    client, _ = client_of_owner
    assert client.get(path).status_code in (200, 404)
