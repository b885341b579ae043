"""What a snapshot says beside its ratings, and how a board looks under each method."""

import random
from collections.abc import Callable
from datetime import timedelta
from itertools import combinations, pairwise

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from leaderboard import extras, services
from leaderboard.boards import WHOLE
from leaderboard.history import history_of
from leaderboard.methods import METHODS
from leaderboard.models import MAIN, Board, Comparison, Snapshot
from leaderboard.shown import shown
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.rankings import MAX_TIED, UNPLACED
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import BEGINNING, rebuilt, stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def models() -> list[LanguageModel]:
    return [factories.language_model(name) for name in ("ann", "ben", "cat", "dan")]


def vote(models: list[LanguageModel], number: int = 80, *, favoured: int = 3) -> None:
    """The earlier in the list, the likelier to win."""
    rng = random.Random(5)
    for step in range(number):
        first, second = rng.sample(range(len(models)), 2)
        better, worse = sorted((first, second))
        winner = better if rng.random() < favoured / (favoured + 1) else worse
        outcome = "tie" if rng.random() < 0.1 else "a" if winner == first else "b"
        length = rng.uniform(-0.5, 0.5)
        stored(
            models[first], models[second], outcome, style_length=length, style_headers=0.0, style_bold=0.0,
            style_lists=0.0, created_at=BEGINNING + timedelta(days=step / 10), category="",
        )  # fmt: skip


def rank_all(models: list[LanguageModel], name: str) -> None:
    for better, worse in combinations(models, 2):
        stored(better, worse, "a", source_id=name, mode="lineup", category="")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_orders_the_models_by_how_often_they_won(method: str, models: list[LanguageModel]) -> None:
    vote(models, 400, favoured=9)
    rank_all(models, "ranking")
    rebuilt()
    rows = shown({"method": method}).standings
    assert [row.rating.model.slug for row in rows] == ["ann", "ben", "cat", "dan"]
    assert [row.place.rank for row in rows] == [1, 2, 3, 4]
    values = [row.place.rating or 0 for row in rows]
    assert all(better > worse for better, worse in pairwise(values))
    assert all(0 <= value <= 1 for value in values) == (METHODS[method].scale == "share")


@pytest.mark.parametrize("query", [{"style_control": "true"}, {"interval": "bootstrap"}])
def test_style_control_and_bootstrap_have_intervals_around_their_ratings(
    query: dict[str, str], models: list[LanguageModel]
) -> None:
    vote(models)
    rebuilt()
    for row in shown(query).standings:
        place = row.place
        assert place.rating_lower is not None
        assert place.rating is not None
        assert place.rating_upper is not None
        assert place.rating_lower < place.rating < place.rating_upper


def test_a_method_that_the_votes_do_not_allow_is_refused_in_words(
    models: list[LanguageModel], api_client: Callable[..., APIClient]
) -> None:
    stored(models[0], models[1])
    rebuilt()
    for query in ({"method": "plackett_luce"}, {"style_control": "true"}, {"method": "elo", "style_control": "true"}):
        answer = api_client().get("/api/v1/leaderboard/", query)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "method_missing")


def test_rankings_are_put_together_again_from_their_pairs() -> None:
    # Ballot 0 ranks 2 before 0 and 1, which tie; ballot 1 says only that 1 beats the others.
    first, second, outcome = [0, 0, 1, 1, 0], [1, 2, 2, 2, 1], [2, 1, 1, 0, 1]
    ranking, model, place = extras.rankings_of(Ballots.of(3, [0, 0, 0, 1, 1], first, second, outcome))
    found = {(int(r), int(m)): int(p) for r, m, p in zip(ranking, model, place, strict=True)}
    assert found == {(0, 2): 0, (0, 0): 1, (0, 1): 1, (1, 1): 0, (1, 0): UNPLACED, (1, 2): UNPLACED}


def test_pairs_of_one_ballot_are_not_as_many_votes(models: list[LanguageModel]) -> None:
    """The same comparisons, once as votes of their own and once as whole rankings, give other intervals."""
    vote(models, 60)
    for number in range(15):
        rank_all(random.Random(number).sample(models, 4), f"ranking-{number}")
    together = rebuilt()
    assert together is not None
    ratings = {row.model_id: row.rating for row in together.ratings.all()}
    lone = {row.model_id: row.rating_upper - row.rating_lower for row in together.ratings.all()}
    Snapshot.objects.all().delete()
    Comparison.objects.update(mode="")
    apart = rebuilt()
    assert apart is not None
    assert any(abs(row.rating_upper - row.rating_lower - lone[row.model_id]) > 1 for row in apart.ratings.all())
    assert {row.model_id: row.rating for row in apart.ratings.all()} == pytest.approx(ratings)


def test_history_ends_with_todays_ratings_and_counts_every_vote(models: list[LanguageModel]) -> None:
    vote(models)
    snapshot = rebuilt()
    assert snapshot is not None
    history = snapshot.extras["history"]
    assert sum(history["votes"]) == 80
    assert len(history["times"]) == 9
    for row in snapshot.ratings.all():
        assert history["ratings"][str(row.model_id)][-1] == pytest.approx(row.rating, abs=0.1)


def test_votes_that_are_left_out_while_a_snapshot_is_made_leave_an_empty_history(models: list[LanguageModel]) -> None:
    stored(models[0], models[1])
    board = Board.objects.get(slug=MAIN)
    assert history_of(board, WHOLE, [models[2].pk])["times"] == []


def test_neighbours_are_told_apart_by_their_own_votes_and_a_person_counts_once(models: list[LanguageModel]) -> None:
    fan = factories.user()
    for _ in range(30):
        stored(models[0], models[1], "a", voter=fan)
        stored(models[1], models[2], "a")
        stored(models[2], models[1], "b")
    stored(models[1], models[0], "a")
    stored(models[2], models[1], "a")
    snapshot = rebuilt()
    assert snapshot is not None
    by_fan, by_many = snapshot.extras["neighbours"]
    assert (by_fan["better"], by_fan["next"], by_fan["votes"], by_fan["leader"]) == (models[0].pk, models[1].pk, 2, 0)
    assert (by_many["better"], by_many["next"], by_many["votes"], by_many["leader"]) == (
        models[1].pk, models[2].pk, 61, 1,
    )  # fmt: skip


def test_a_line_up_in_which_too_many_tie_does_not_stop_the_leaderboard(models: list[LanguageModel]) -> None:
    vote(models)
    crowd = [factories.language_model(f"model-{number}") for number in range(MAX_TIED + 1)]
    for first, second in combinations(crowd, 2):
        stored(first, second, "tie", source_id="all-alike", mode="lineup", category="")
    alone = rebuilt()
    assert alone is not None
    assert "plackett_luce" not in alone.extras["methods"]
    rank_all(models, "ranking")
    Snapshot.objects.all().delete()
    made = rebuilt()
    assert made is not None
    assert made.extras["methods"]["plackett_luce"]["rankings"] == 81


def test_line_ups_say_nothing_of_position(models: list[LanguageModel]) -> None:
    """They stand in the order of the catalogue, so that the first may win for what it is."""
    vote(models, 200)
    before = rebuilt()
    for number in range(30):
        rank_all(models[::-1], f"ranking-{number}")
    Snapshot.objects.all().delete()
    after = rebuilt()
    assert before is not None
    assert after is not None
    assert after.extras["position"] == pytest.approx(before.extras["position"])
    Comparison.objects.exclude(mode="lineup").delete()
    Snapshot.objects.all().delete()
    alone = rebuilt()
    assert alone is not None
    assert alone.extras["position"] is None


def test_extras_are_kept_while_it_is_too_early_and_asked_for_later(
    models: list[LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float | None] = []
    monkeypatch.setattr(services, "snapshots_request", lambda delay=None: asked.append(delay))
    monkeypatch.setattr(extras, "SHARE", 1e6)
    vote(models, 10)
    first = rebuilt()
    vote(models, 10)
    second = rebuilt()
    assert first is not None
    assert second is not None
    assert second.extras["watermark"] == first.extras["watermark"] != [second.comparisons, 0, 0]
    assert asked[-1] is not None
    assert asked[-1] > 0
    # Later they may be made anew, although no vote has come since.
    old = second.extras | {"computed_at": (timezone.now() - timedelta(days=365)).isoformat(), "seconds": 1e-9}
    Snapshot.objects.filter(pk=second.pk).update(extras=old)
    third = rebuilt()
    assert third is not None
    assert third.extras["watermark"] == [third.comparisons, third.last_comparison_id, third.id_sum]
