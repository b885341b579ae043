"""Bradley-Terry with a tie parameter: by hand, another library, symmetries, and what cannot be known."""

from pathlib import Path

import evalica
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.statistics import bradley_terry
from leaderboard.statistics.davidson import Davidson, fit
from leaderboard.statistics.types import BOTH_BAD, POINTS, TIE, A, B, Counts
from tests.leaderboard.reference import read

MODELS = 4
pairs = st.tuples(st.integers(0, MODELS - 1), st.integers(0, MODELS - 1)).filter(lambda pair: pair[0] != pair[1])
games = st.lists(
    st.builds(lambda pair, kind: (*pair, kind), pairs, st.sampled_from([A, B, TIE, BOTH_BAD])), max_size=60
)


def fitted(played: list[tuple[int, int, int]], n: int = MODELS) -> Davidson:
    first, second, outcome = zip(*played, strict=True) if played else ((), (), ())
    return fit(Counts.of(n, first, second, outcome))


def test_two_models_can_be_fitted_by_hand() -> None:
    """Win, loss and tie 40, 10 and 20 times: odds of 4 to 1, and 20 / sqrt(40 * 10) ties for each."""
    result = fitted([(0, 1, A)] * 40 + [(0, 1, B)] * 10 + [(0, 1, TIE)] * 20, 2)
    assert result.ratings[0] - result.ratings[1] == pytest.approx(POINTS * np.log(4))
    assert result.tie == pytest.approx(20 / np.sqrt(40 * 10))
    assert result.tie_rate == pytest.approx(1 / 3)
    assert result.log_likelihood == pytest.approx(40 * np.log(4 / 7) + 10 * np.log(1 / 7) + 20 * np.log(2 / 7))
    # Only won and lost comparisons tell the two apart: the variance of the log of their odds.
    half = 1.959964 * POINTS * np.sqrt(1 / 40 + 1 / 10) / 2
    assert result.upper - result.ratings == pytest.approx([half, half], rel=1e-6)


def test_the_crowds_ratings_are_those_of_newmans_iteration(shared_data: Path) -> None:
    reference = read(shared_data)
    kinds = {"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    first, second, winner = zip(*reference.votes, strict=True)
    theirs = evalica.newman(first, second, [kinds[word] for word in winner], tolerance=1e-12, limit=100_000)
    logs = np.log(theirs.scores.sort_index().to_numpy())
    ours = fit(reference.counts)
    assert ours.ratings == pytest.approx(1000 + POINTS * (logs - logs.mean()), abs=1e-6)
    assert ours.tie == pytest.approx(2 * theirs.v, abs=1e-8)
    assert ours.tie_lower < ours.tie < ours.tie_upper


def test_without_ties_it_is_bradley_terry() -> None:
    played = [(0, 1, A), (1, 2, A), (2, 3, A), (3, 0, A), (0, 2, A), (1, 0, A)] * 10
    plain = bradley_terry.fit(Counts.of(4, *zip(*played, strict=True)))
    result = fitted(played)
    assert result.tie == 0
    assert np.isnan(result.tie_lower)
    assert result.ratings == pytest.approx(plain.ratings)
    assert result.upper == pytest.approx(plain.upper, abs=0.1)
    assert result.log_likelihood == pytest.approx(plain.log_likelihood)


@given(games, st.randoms())
@settings(max_examples=50)
def test_neither_order_nor_sides_matter(played: list[tuple[int, int, int]], random: object) -> None:
    swapped = [(b, a, {A: B, B: A}.get(outcome, outcome)) for a, b, outcome in played]
    random.shuffle(swapped)  # type: ignore[attr-defined]
    one, other = fitted(played), fitted(swapped)
    for name in ("ratings", "lower", "upper", "tie"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-5, nan_ok=True)


@given(games)
@settings(max_examples=50)
def test_no_votes_whatever_make_a_false_number(played: list[tuple[int, int, int]]) -> None:
    result = fitted(played)
    for figures in (result.ratings, result.lower, result.upper):
        assert np.all(np.isfinite(figures) == result.rated)
    assert np.all(result.lower[result.rated] < result.upper[result.rated])
    if result.rated.any():
        assert result.ratings[result.rated].mean() == pytest.approx(1000)
        assert np.isfinite(result.tie)


def test_where_all_is_tied_the_tie_parameter_is_finite_and_the_fit_says_so() -> None:
    result = fitted([(0, 1, TIE)] * 10, 2)
    assert result.is_regularised
    assert result.ratings == pytest.approx([1000, 1000])
    assert 2 < result.tie < 1000


def test_a_win_and_a_tie_leave_the_distance_open() -> None:
    """As far apart as you like: with v as large, both outcomes stay equally likely."""
    assert fitted([(0, 1, A), (0, 1, TIE)], 2).is_regularised
    assert not fitted([(0, 1, A), (0, 1, TIE), (0, 1, B)], 2).is_regularised


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """200 simulated arenas: 95% of 800 intervals of ratings and 200 of v, give or take four standard errors."""
    rng = np.random.default_rng(5)
    truth, v = np.array([-0.8, -0.1, 0.3, 0.6]), 0.7
    points = 1000 + POINTS * (truth - truth.mean())
    ratings = ties = 0
    for _ in range(200):
        first = rng.integers(0, 4, 500)
        second = (first + rng.integers(1, 4, 500)) % 4
        odds = np.exp((truth[first] - truth[second]) / 2)
        drawn = rng.random(500) * (odds + 1 / odds + v)
        outcome = np.select([drawn < odds, drawn < odds + v], [A, TIE], B)
        result = fit(Counts.of(4, first, second, outcome))
        ratings += int(((result.lower < points) & (points < result.upper)).sum())
        ties += result.tie_lower < v < result.tie_upper
    assert 0.92 < ratings / 800 < 0.98
    assert 0.89 < ties / 200 < 1
