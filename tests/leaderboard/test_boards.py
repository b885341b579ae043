"""A board counts what its filter lets in, and its categories and languages have leaderboards of their own."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from leaderboard import services
from leaderboard.boards import Segment, comparisons_of
from leaderboard.models import MAIN, Board, Snapshot
from leaderboard.selectors import leaderboard_latest, segments_of
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import BEGINNING, stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair() -> tuple[LanguageModel, LanguageModel]:
    return factories.language_model("left"), factories.language_model("right")


def board(**fields: Any) -> Board:
    return Board.objects.create(slug="other", name="Other", **fields)


FILTERS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    # what the board asks for, what a comparison then must have, and one that is left out
    "source": ({"sources": ["judge"]}, {"source_kind": "judge"}, {"source_kind": "battle"}),
    "two sources": ({"sources": ["judge", "import"]}, {"source_kind": "import"}, {"source_kind": "battle"}),
    "mode": ({"modes": ["lineup"]}, {"mode": "lineup"}, {"mode": "blind"}),
    "conversations": ({"modes": ["talk"]}, {"mode": "talk"}, {"mode": "blind"}),
    "all, but no conversations": ({}, {"mode": "blind"}, {"mode": "talk", "source_kind": "conversation"}),
    "judges of answers": ({"sources": ["judge"]}, {"source_kind": "judge"}, {"source_kind": "judge", "mode": "talk"}),
    "blind": ({"blind_only": True}, {"is_blind": True}, {"is_blind": False}),
    "category": ({"category": "coding"}, {"category": "coding"}, {"category": "writing"}),
    "language": ({"language": "de"}, {"language": "de"}, {"language": "en"}),
    "imports of this board": ({"imported_as": "crowd"}, {"board": "crowd"}, {"board": "else"}),
    "since": ({"since": BEGINNING}, {"created_at": BEGINNING}, {"created_at": BEGINNING - timedelta(seconds=1)}),
    "until": ({"until": BEGINNING}, {"created_at": BEGINNING - timedelta(seconds=1)}, {"created_at": BEGINNING}),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_lets_in_what_it_names_alone(name: str, pair: tuple[LanguageModel, LanguageModel]) -> None:
    asked, let_in, left_out = FILTERS[name]
    wanted = stored(*pair, **let_in)
    stored(*pair, **let_in, exclusion="admin")
    stored(*pair, **left_out)
    assert list(comparisons_of(board(**{"blind_only": False} | asked))) == [wanted]


def test_a_board_of_a_group_has_the_votes_of_its_people(pair: tuple[LanguageModel, LanguageModel]) -> None:
    group = Group.objects.create(name="experts")
    expert = factories.user()
    expert.groups.add(group)
    wanted = stored(*pair, voter=expert)
    stored(*pair, voter=factories.user())
    assert list(comparisons_of(board(group=group))) == [wanted]


def test_a_board_without_a_filter_counts_named_votes_too(pair: tuple[LanguageModel, LanguageModel]) -> None:
    stored(*pair, is_blind=False)
    stored(*pair, source_kind="judge")
    assert comparisons_of(board(blind_only=False)).count() == 2
    assert not comparisons_of(Board.objects.get(slug=MAIN)).exists()


def test_categories_and_languages_have_leaderboards_once_they_have_enough_votes(
    pair: tuple[LanguageModel, LanguageModel],
) -> None:
    main = Board.objects.get(slug=MAIN)
    Board.objects.update(minimum_comparisons=3)
    main.refresh_from_db()
    for category, language, outcome in (("coding", "de", "a"), ("coding", "en", "a"), ("coding", "en", "b")):
        stored(*pair, outcome, category=category, language=language)
    stored(*pair, "b", category="writing", language="en")
    services.snapshots_rebuild()
    assert segments_of(main)[main.pk] == [Segment(category="coding"), Segment(language="en")]
    coding = leaderboard_latest(main, Segment(category="coding"))
    assert coding is not None
    assert (coding.comparisons, coding.ratings.get(model=pair[0]).wins) == (3, 2)
    whole = leaderboard_latest(main)
    assert whole is not None
    assert whole.comparisons == 4


def test_a_category_that_loses_its_votes_is_emptied(pair: tuple[LanguageModel, LanguageModel]) -> None:
    Board.objects.update(minimum_comparisons=1)
    vote = stored(*pair, category="coding")
    services.snapshots_rebuild()
    type(vote).objects.update(category="writing")
    services.snapshots_rebuild()
    coding = leaderboard_latest(Board.objects.get(slug=MAIN), Segment(category="coding"))
    assert coding is not None
    assert coding.comparisons == 0


def test_what_was_left_out_is_counted_by_reason(pair: tuple[LanguageModel, LanguageModel], client: Client) -> None:
    stored(*pair)
    stored(*pair, exclusion="duplicate")
    stored(*pair, exclusion="duplicate", source_kind="judge")  # of another board
    services.snapshots_rebuild()
    assert Snapshot.objects.latest().left_out == {"duplicate": 1}
    assert "1: The same models on the same prompt" in client.get(reverse("leaderboard:index")).content.decode()


def test_a_board_that_is_not_public_is_for_staff(client: Client) -> None:
    board(is_public=False)
    address = reverse("leaderboard:index") + "?board=other"
    assert client.get(address).status_code == 404
    client.force_login(factories.staff())
    assert client.get(address).status_code == 200


def test_the_main_board_cannot_be_deleted_and_a_window_must_not_end_before_it_begins(client: Client) -> None:
    client.force_login(factories.staff())
    main = Board.objects.get(slug=MAIN)
    assert client.post(reverse("admin:leaderboard_board_delete", args=[main.pk]), {"post": "yes"}).status_code == 403
    form = {"name": "Window", "slug": "window", "position": 5, "minimum_comparisons": 3}
    times = {"since_0": "2026-05-02", "since_1": "00:00", "until_0": "2026-05-01", "until_1": "00:00"}
    assert "must come after" in client.post(reverse("admin:leaderboard_board_add"), form | times).content.decode()
    assert client.post(reverse("admin:leaderboard_board_add"), form).status_code == 302
    assert Board.objects.get(slug="window").sources == []


def test_the_list_of_boards_costs_as_much_for_many_as_for_one(
    api_client: Callable[..., APIClient], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    Board.objects.bulk_create([Board(slug=f"board-{number}", name=f"Board {number}") for number in range(15)])
    client = api_client()
    with django_assert_max_num_queries(8):
        assert len(client.get("/api/v1/leaderboard/boards/").json()["boards"]) == 16
