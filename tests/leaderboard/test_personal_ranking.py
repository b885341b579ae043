"""One's own ranking: one's votes, smoothed by everybody's, and nobody else's business."""

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from accounts.models import User
from leaderboard import services
from leaderboard.models import Snapshot
from leaderboard.shown import shown
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import rebuilt, stored

pytestmark = pytest.mark.django_db
URL = "/api/v1/leaderboard/mine/"


@pytest.fixture
def world() -> tuple[User, LanguageModel, LanguageModel]:
    """Everybody prefers Ann to Ben, and one person Ben to Ann."""
    ann, ben, cat = (factories.language_model(name) for name in ("ann", "ben", "cat"))
    for _ in range(30):
        stored(ann, ben, voter=factories.user("crowd") if not User.objects.filter(username="crowd") else None)
        stored(ben, cat)
        stored(cat, ann)
        stored(ann, cat)
    contrarian = factories.user("contrarian")
    for _ in range(8):
        stored(ben, ann, voter=contrarian)
    rebuilt()
    services.personal_rebuild(person_id=contrarian.pk)
    return contrarian, ann, ben


def test_few_votes_move_a_model_from_everybodys_rating_a_little(
    world: tuple[User, LanguageModel, LanguageModel], api_client: Callable[..., APIClient]
) -> None:
    contrarian, *_ = world
    client = api_client(contrarian, scopes=("read",))
    own = {row["model"]["slug"]: row for row in client.get(URL).json()["results"]}
    everybodys = {row["model"]["slug"]: row for row in client.get("/api/v1/leaderboard/").json()["results"]}
    assert own["ben"]["rating"] > everybodys["ben"]["rating"] + 20
    assert own["ann"]["rating"] < everybodys["ann"]["rating"] - 20
    assert own["cat"]["rating"] == pytest.approx(everybodys["cat"]["rating"], abs=20)
    assert (own["ben"]["wins"], own["cat"]["comparisons"]) == (8, 0)


def test_it_is_made_again_when_something_has_changed(world: tuple[User, LanguageModel, LanguageModel]) -> None:
    contrarian, ann, ben = world
    assert services.personal_rebuild(person_id=contrarian.pk) is None
    stored(ben, ann, voter=contrarian)
    made = services.personal_rebuild(person_id=contrarian.pk)
    assert made is not None
    assert made.comparisons == 9
    assert Snapshot.objects.filter(person=contrarian).count() == 1


def test_the_page_shows_ones_own_and_asks_for_what_is_newer(
    world: tuple[User, LanguageModel, LanguageModel], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    contrarian, ann, ben = world
    asked: list[int] = []
    monkeypatch.setattr(services, "personal_request", lambda person_id: asked.append(person_id))
    client.force_login(contrarian)
    address = reverse("leaderboard:mine")
    assert "Your 8 votes" in client.get(address).content.decode()
    assert asked == []
    stored(ben, ann, voter=contrarian)
    assert "being counted" in client.get(address).content.decode()
    assert asked == [contrarian.pk]


def test_who_is_left_out_of_the_board_cannot_see_it_in_their_own_ranking(
    world: tuple[User, LanguageModel, LanguageModel],
) -> None:
    contrarian, ann, ben = world
    stored(ben, ann, voter=contrarian, exclusion="flagged")
    stored(ben, ann, voter=contrarian, exclusion="withdrawn")
    assert shown({}, person_id=contrarian.pk).pending == 1
    made = services.personal_rebuild(person_id=contrarian.pk)
    assert made is not None
    assert made.comparisons == 9


def test_others_have_an_empty_page_and_strangers_none(world: object, client: Client) -> None:
    assert client.get(reverse("leaderboard:mine")).status_code == 302
    client.force_login(factories.user())
    assert "No votes of yours yet" in client.get(reverse("leaderboard:mine")).content.decode()


def test_it_never_stands_on_a_board(world: tuple[User, LanguageModel, LanguageModel], client: Client) -> None:
    """Everybody's leaderboard does not take a person's snapshot, which is newer, for its own."""
    assert "128 votes" in client.get(reverse("leaderboard:index")).content.decode()
