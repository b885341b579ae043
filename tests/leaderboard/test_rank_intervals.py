"""Ranks from comparing all pairs at once, and tiers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.statistics.bradley_terry import fit
from leaderboard.statistics.ranks import certainly_better, simultaneous_ranks, tiers
from leaderboard.statistics.types import POINTS, A, B, Counts

nan = np.nan


def test_two_models_that_met_often_are_told_apart_although_their_intervals_overlap() -> None:
    """Both moved with their opponents, so that their difference is known better than each of them."""
    covariance = np.array([[100.0, 95.0], [95.0, 100.0]])
    ratings = np.array([1010.0, 1000.0])
    assert certainly_better(ratings, covariance).tolist() == [[False, True], [False, False]]
    assert not certainly_better(ratings, np.diag(np.diag(covariance))).any()


def test_the_certain_come_in_the_order_of_holm() -> None:
    """Differences of 2.2, 3.0 and 5.2 standard errors: p 0.0139, 0.0013 and 1e-7 against 0.05 / 4, / 5 and / 6."""
    better = certainly_better(np.array([5.2, 3.0, 0.0]), np.eye(3) / 2)
    assert better.tolist() == [[False, False, True], [False, False, True], [False, False, False]]
    closer = certainly_better(np.array([5.3, 3.0, 0.0]), np.eye(3) / 2)
    assert closer[0, 1]


def test_rank_limits_count_the_certain_ones() -> None:
    places = simultaneous_ranks(np.array([5.2, nan, 3.0, 0.0]), np.diag([0.5, nan, 0.5, 0.5]))
    assert places.rank.tolist() == [1, 0, 2, 3]
    assert places.lower.tolist() == [1, 0, 1, 3]
    assert places.upper.tolist() == [2, 0, 2, 3]


def test_tiers_open_where_the_best_is_certainly_better() -> None:
    ratings = np.array([1000.0, 1100.0, nan, 1090.0, 1005.0])
    better = np.zeros((5, 5), dtype=bool)
    better[1, 0] = better[1, 4] = better[3, 0] = True
    assert tiers(ratings, better).tolist() == [2, 1, 0, 1, 2]


@pytest.mark.parametrize("n", [0, 1])
def test_nobody_and_one_model_need_no_comparison(n: int) -> None:
    ratings = np.full(n, 1000.0)
    places = simultaneous_ranks(ratings, np.eye(n))
    assert places.rank.tolist() == places.lower.tolist() == places.upper.tolist() == [1] * n
    assert tiers(ratings, certainly_better(ratings, np.eye(n))).tolist() == [1] * n


@given(st.lists(st.floats(0, 2000), min_size=2, max_size=8), st.integers(0, 100), st.randoms())
def test_neither_the_numbering_nor_anything_else_puts_a_rank_outside_its_limits(
    values: list[float], seed: int, random: object
) -> None:
    n = len(values)
    ratings = np.array(values)
    root = np.random.default_rng(seed).normal(size=(n, n)) * 50
    covariance = root @ root.T
    places = simultaneous_ranks(ratings, covariance)
    assert (places.lower <= places.rank).all()
    assert (places.rank <= places.upper).all()
    number = list(range(n))
    random.shuffle(number)  # type: ignore[attr-defined]
    moved = simultaneous_ranks(ratings[number], covariance[np.ix_(number, number)])
    assert moved.lower.tolist() == places.lower[number].tolist()
    assert moved.upper.tolist() == places.upper[number].tolist()


def test_all_true_ranks_lie_within_their_limits_at_once_as_often_as_they_say() -> None:
    """300 simulated arenas with three equals at the top: every rank holds in 95% of them or more."""
    rng = np.random.default_rng(4)
    truth = np.array([0.4, 0.4, 0.4, 0.0, -0.5, -0.6])
    best, worst = np.array([1, 1, 1, 4, 5, 6]), np.array([3, 3, 3, 4, 5, 6])
    all_held = told_apart = 0
    for _ in range(300):
        first = rng.integers(0, 6, 800)
        second = (first + rng.integers(1, 6, 800)) % 6
        chance = 1 / (1 + np.exp(truth[second] - truth[first]))
        fitted = fit(Counts.of(6, first, second, np.where(rng.random(800) < chance, A, B)))
        places = simultaneous_ranks(fitted.ratings, fitted.covariance)
        # Equals may share any of their places; the limits must hold all of them.
        all_held += bool(np.all((places.lower <= best) & (worst <= places.upper)))
        told_apart += bool(certainly_better(fitted.ratings, fitted.covariance)[0, 5])
    assert all_held >= 0.93 * 300
    assert told_apart > 0.9 * 300


def test_a_fit_knows_differences_better_than_its_intervals_show() -> None:
    """A thousand games between two of three models: their difference has a standard error of its own."""
    first, second = [0] * 1000 + [0] * 20 + [1] * 20, [1] * 1000 + [2] * 40
    outcome = [A] * 560 + [B] * 440 + [A, B] * 20
    fitted = fit(Counts.of(3, first, second, outcome))
    assert fitted.lower[0] < fitted.upper[1]
    assert certainly_better(fitted.ratings, fitted.covariance)[0, 1]
    assert fitted.ratings[0] - fitted.ratings[1] == pytest.approx(POINTS * np.log(56 / 44), abs=5)
