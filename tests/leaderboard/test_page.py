"""The leaderboard page."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from leaderboard.models import MAIN, Board, Rating, Snapshot
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import BEGINNING, rebuilt, stored

pytestmark = pytest.mark.django_db


def page(client: Client, query: str = "") -> str:
    response = client.get(reverse("leaderboard:index") + query)
    assert response.status_code == 200
    return response.content.decode()


def names(html: str) -> list[str]:
    """The first table's, in its order."""
    table = html.partition("</table>")[0]
    return [name.strip() for name in re.findall(r'<th scope="row">\s*([^<]+)', table)]


@pytest.fixture
def board() -> tuple[LanguageModel, LanguageModel, LanguageModel]:
    """Alpha beats Beta, Beta beats Gamma, and everyone has won once."""
    alpha, beta, gamma = (factories.language_model(name) for name in ("alpha", "beta", "gamma"))
    voter = factories.user()
    for winner, loser, number in ((alpha, beta, 6), (beta, gamma, 4), (alpha, gamma, 3), (gamma, alpha, 1)):
        for _ in range(number):
            stored(winner, loser, "a", voter=voter)
    rebuilt()
    return alpha, beta, gamma


def test_the_empty_page_says_what_will_be_here_and_how_to_begin(client: Client) -> None:
    html = page(client)
    assert "No ratings yet" in html
    assert reverse("battles:new") in html


def test_before_the_first_snapshot_the_page_says_that_votes_are_being_counted(client: Client) -> None:
    stored(factories.language_model(), factories.language_model())
    assert "being counted" in page(client)


def test_anybody_may_see_it_best_model_first(client: Client, board: object) -> None:
    html = page(client)
    assert names(html) == ["Alpha", "Beta", "Gamma"]
    assert "14 votes" in html
    assert "by 1 person" in html


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_can_only_be_read(client: Client, method: str) -> None:
    assert getattr(client, method)(reverse("leaderboard:index")).status_code == 405


def test_a_heading_sorts_without_a_script_and_turns_round(client: Client, board: object) -> None:
    html = page(client, "?sort=model&direction=descending")
    assert names(html) == ["Gamma", "Beta", "Alpha"]
    assert 'aria-sort="descending"><a href="?sort=model&amp;direction=ascending"' in html


@pytest.mark.parametrize("query", ["?sort=nonsense&direction=up", "?sort=&direction=", "?sort=rank%00"])
def test_an_unknown_order_gives_the_usual_one(client: Client, board: object, query: str) -> None:
    assert names(page(client, query)) == ["Alpha", "Beta", "Gamma"]


@pytest.mark.parametrize("key", ["rank", "model", "rating", "elo", "win_rate", "wins", "both_bad", "comparisons"])
@pytest.mark.parametrize("direction", ["ascending", "descending"])
def test_models_without_a_value_come_last_either_way(client: Client, board: object, key: str, direction: str) -> None:
    stored(factories.language_model("lonely"), factories.language_model("lonesome"), "both_bad")
    rebuilt()
    found = names(page(client, f"?sort={key}&direction={direction}"))
    assert len(found) == 5
    if key in ("rank", "rating", "win_rate"):
        assert set(found[-2:]) == {"Lonely", "Lonesome"}


def test_newer_votes_are_said_to_be_on_the_way(client: Client, board: tuple[LanguageModel, ...]) -> None:
    stored(board[0], board[1])
    stored(board[0], board[1])
    assert "2 newer votes are on the way" in page(client)


def test_the_page_holds_no_inline_style_or_script(client: Client, board: object) -> None:
    html = page(client)
    assert 'class="interval-plot"' in html
    assert " style=" not in html
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"\son\w+=", html)


def test_a_models_name_is_text_and_never_markup(client: Client) -> None:
    evil = factories.language_model("evil", name="<script>alert(1)</script>", organisation="<b>x</b>")
    stored(evil, factories.language_model())
    rebuilt()
    html = page(client)
    assert "<script>alert" not in html
    assert "<b>x</b>" not in html


def test_hidden_models_are_not_named(client: Client, board: tuple[LanguageModel, ...]) -> None:
    LanguageModel.objects.filter(pk=board[1].pk).update(status=LanguageModel.Status.HIDDEN)
    assert names(page(client)) == ["Alpha", "Gamma"]


def test_numbers_in_drawings_have_a_point_in_every_language(client: Client, board: object) -> None:
    html = client.get(reverse("leaderboard:index"), headers={"accept-language": "de"}).content.decode()
    assert re.search(r'<circle cx="\d+\.\d\d"', html)


def test_two_hundred_models_take_no_more_queries_than_two(
    client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    place = factories.endpoint()
    models = [factories.language_model(f"m-{number}", endpoint=place) for number in range(200)]
    snapshot = Snapshot.objects.create(
        board=Board.objects.get(slug=MAIN),
        comparisons=2_000_000,
        voters=9,
        seconds=1,
        code_version="1",
        first_at=BEGINNING,
        last_at=BEGINNING,
    )
    Rating.objects.bulk_create(
        Rating(
            snapshot=snapshot, model=model, rank=place + 1, rank_lower=place + 1, rank_upper=place + 1,
            rating=1200 - place, rating_lower=1190 - place, rating_upper=1210 - place, elo=1000, wins=1, losses=1,
            ties=1, both_bad=1, comparisons=4, win_rate=0.5,
        )
        for place, model in enumerate(models)
    )  # fmt: skip
    client.force_login(factories.user())
    with django_assert_max_num_queries(12):
        assert len(names(page(client))) == 200


def test_who_is_certainly_best_follows_the_method(client: Client) -> None:
    strong, weak = factories.language_model("strong"), factories.language_model("weak")
    for _ in range(60):
        stored(strong, weak, "a")
    for _ in range(4):
        stored(weak, strong, "a")
    rebuilt()
    assert "certainly better than every other" in page(client)
    # Elo has no interval, so it is certain of nothing.
    assert "No model is certainly ahead yet" in page(client, "?method=elo")
