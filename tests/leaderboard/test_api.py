"""The leaderboard for programs."""

from collections.abc import Callable

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from leaderboard.models import Rating
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import rebuilt, stored

pytestmark = pytest.mark.django_db

LEADERBOARD, MATRIX = "/api/v1/leaderboard/", "/api/v1/leaderboard/matrix/"


@pytest.fixture
def board() -> tuple[LanguageModel, LanguageModel]:
    a, b = factories.language_model("a-model"), factories.language_model("b-model")
    for outcome in ("a", "a", "b", "tie", "both_bad"):
        stored(a, b, outcome)
    rebuilt()
    return a, b


def test_the_addresses_are_those_of_the_contract() -> None:
    assert reverse("api_leaderboard") == LEADERBOARD
    assert reverse("api_leaderboard_matrix") == MATRIX


def test_a_row_a_model_best_first(board: object, api_client: Callable[..., APIClient]) -> None:
    body = api_client().get(LEADERBOARD).json()
    assert body["comparisons"] == 5
    assert body["parameters"]["method"] == "bradley_terry"
    assert body["computed_at"].endswith("Z")
    assert body["pending"] == 0
    best, second = body["results"]
    assert best["model"]["slug"] == "a-model"
    assert second["rank"] == 2
    assert {"rank_lower", "rank_upper", "rating", "rating_lower", "rating_upper", "elo"} <= set(best)
    assert (best["wins"], best["ties"], best["losses"], best["comparisons"]) == (2, 1, 1, 5)
    assert best["win_rate"] == pytest.approx(0.625)
    assert best["both_bad_rate"] == pytest.approx(0.2)


def test_before_the_first_snapshot_there_are_no_rows(api_client: Callable[..., APIClient]) -> None:
    body = api_client().get(LEADERBOARD).json()
    assert (body["results"], body["comparisons"], body["computed_at"]) == ([], 0, None)
    assert api_client().get(MATRIX).json() == {"computed_at": None, "models": [], "pairs": []}


def test_the_method_chooses_the_order(board: object, api_client: Callable[..., APIClient]) -> None:
    Rating.objects.filter(model__slug="b-model").update(elo=1500, win_rate=0.99)
    for method, best in (("bradley_terry", "a-model"), ("elo", "b-model"), ("win_rate", "b-model")):
        body = api_client().get(LEADERBOARD, {"method": method}).json()
        assert body["parameters"]["method"] == method
        assert body["results"][0]["model"]["slug"] == best


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("board", "not a slug", "invalid"),
        ("category", "c" * 33, "invalid"),
        ("style_control", "maybe", "invalid"),
        ("interval", "wide", "invalid"),
        ("method", "guess", "invalid"),
    ],
)
def test_what_cannot_be_served_is_refused_and_named(
    api_client: Callable[..., APIClient], name: str, value: str, code: str
) -> None:
    response = api_client().get(LEADERBOARD, {name: value})
    assert response.status_code == 400
    assert response.json()["error"]["code"] == code
    assert name in response.json()["error"]["fields"]


def test_a_parameter_that_asks_for_nothing_special_is_accepted(api_client: Callable[..., APIClient]) -> None:
    query = {"board": "", "category": "", "language": "", "style_control": "false"}
    assert api_client().get(LEADERBOARD, query).status_code == 200


def test_the_matrix_has_every_pair_that_met(board: object, api_client: Callable[..., APIClient]) -> None:
    body = api_client().get(MATRIX).json()
    assert [model["slug"] for model in body["models"]] == ["a-model", "b-model"]
    assert body["pairs"] == [
        {
            "model_a": "a-model",
            "model_b": "b-model",
            "wins_a": 2,
            "wins_b": 1,
            "ties": 1,
            "both_bad": 1,
            "win_rate_a": 0.625,
            "win_rate_b": 0.375,
        }
    ]


def test_a_pair_that_was_only_ever_bad_has_no_win_rate(api_client: Callable[..., APIClient]) -> None:
    stored(factories.language_model(), factories.language_model(), "both_bad")
    rebuilt()
    assert api_client().get(MATRIX).json()["pairs"][0]["win_rate_a"] is None


def test_hidden_models_are_named_neither_in_rows_nor_in_pairs(
    board: tuple[LanguageModel, LanguageModel], api_client: Callable[..., APIClient]
) -> None:
    LanguageModel.objects.filter(pk=board[1].pk).update(status=LanguageModel.Status.HIDDEN)
    for address in (LEADERBOARD, MATRIX):
        assert "b-model" not in api_client().get(address).content.decode()


@pytest.mark.parametrize("address", [LEADERBOARD, MATRIX])
def test_a_key_with_the_scope_read_is_needed(address: str, api_client: Callable[..., APIClient]) -> None:
    assert APIClient().get(address).status_code == 401
    assert api_client(scopes=("vote",)).get(address).status_code == 403
    assert api_client(scopes=("read",)).get(address).status_code == 200
