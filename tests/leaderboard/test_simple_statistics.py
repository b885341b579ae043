"""Ranks, Elo and win rates: small cases that a reader can check by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.statistics.elo import beginners, elo, history
from leaderboard.statistics.ranks import ranks
from leaderboard.statistics.types import BOTH_BAD, TIE, A, B, Counts
from leaderboard.statistics.win_rate import average_win_rate, both_bad_rate, win_rate

nan = np.nan


def test_overlapping_intervals_leave_the_order_open() -> None:
    ratings = np.array([1100.0, 1080.0, 900.0])
    places = ranks(ratings, ratings - 30, ratings + 30)
    assert places.rank.tolist() == [1, 2, 3]
    assert places.lower.tolist() == [1, 1, 3]
    assert places.upper.tolist() == [2, 2, 3]


def test_intervals_that_only_touch_decide_nothing() -> None:
    ratings = np.array([1020.0, 1000.0])
    places = ranks(ratings, ratings - 10, ratings + 10)
    assert places.lower.tolist() == [1, 1]
    assert places.upper.tolist() == [2, 2]


def test_equal_ratings_share_a_place() -> None:
    ratings = np.array([1000.0, 1000.0, 900.0])
    assert ranks(ratings, ratings - 1, ratings + 1).rank.tolist() == [1, 1, 3]


def test_a_model_without_a_rating_has_no_place_and_pushes_nobody_down() -> None:
    ratings = np.array([nan, 1000.0, 900.0])
    places = ranks(ratings, ratings - 1, ratings + 1)
    assert places.rank.tolist() == [0, 1, 2]
    assert places.upper.tolist() == [0, 1, 2]


def test_no_models_have_no_places() -> None:
    empty = np.array([])
    assert ranks(empty, empty, empty).rank.tolist() == []


def test_between_equals_the_winner_gains_half_the_step() -> None:
    assert elo([(0, 1, 1.0, 1.0)], beginners(2)).ratings == pytest.approx((1002.0, 998.0))


def test_a_surprise_moves_more_than_what_was_expected() -> None:
    """At 400 points ahead ten of eleven are expected, so a loss costs 4 * 10/11."""
    assert elo([(0, 1, 0.0, 1.0)], [1400.0, 1000.0]).ratings == pytest.approx((1400 - 40 / 11, 1000 + 40 / 11))


games = st.lists(
    st.tuples(st.integers(0, 3), st.integers(4, 7), st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.1, 2)), max_size=40
)


@given(games, st.integers(0, 40))
def test_carrying_on_gives_the_same_as_playing_all_at_once(
    played: list[tuple[int, int, float, float]], cut: int
) -> None:
    whole = elo(played, beginners(8)).ratings
    assert elo(played[cut:], elo(played[:cut], beginners(8)).ratings).ratings == whole
    assert sum(whole) == pytest.approx(8000)


def test_the_history_has_the_ratings_after_each_period() -> None:
    played = [(0, 1, 1.0, 1.0), (0, 1, 0.0, 1.0), (1, 2, 0.5, 1.0)]
    kept = history(played, [5, 5, 7], beginners(4))
    assert kept.periods == (5, 7)
    assert kept.ratings[0] == pytest.approx([*elo(played[:2], beginners(2)).ratings, nan, nan], nan_ok=True)
    assert kept.ratings[1] == pytest.approx([*elo(played, beginners(3)).ratings, nan], nan_ok=True)


def test_a_period_that_comes_back_is_refused() -> None:
    with pytest.raises(ValueError, match="together"):
        history([(0, 1, 1.0, 1.0)] * 3, [1, 2, 1], beginners(2))


def test_no_games_have_an_empty_history() -> None:
    assert history([], [], beginners(3)).ratings.shape == (0, 3)


def test_a_win_rate_counts_a_tie_as_half_and_leaves_both_bad_out() -> None:
    rates = win_rate(Counts.of(3, [0, 0, 0, 0], [1, 1, 1, 1], [A, A, TIE, BOTH_BAD]))
    assert rates.rate.tolist() == pytest.approx([2.5 / 3, 0.5 / 3, nan], nan_ok=True)
    assert rates.comparisons.tolist() == [3, 3, 0]


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    """Newcombe (1998), Two-sided confidence intervals for the single proportion: 81 of 263 is 0.2553 to 0.3662."""
    rates = win_rate(Counts.of(2, [0, 0], [1, 1], [A, B], number=[81, 182]))
    assert rates.lower[0] == pytest.approx(0.2553, abs=5e-5)
    assert rates.upper[0] == pytest.approx(0.3662, abs=5e-5)


def test_a_model_that_never_lost_still_has_an_interval() -> None:
    rates = win_rate(Counts.of(2, [0] * 5, [1] * 5, [A] * 5))
    assert rates.rate[0] == rates.upper[0] == 1.0
    assert rates.lower[0] < 0.6


def test_the_average_win_rate_weighs_every_opponent_the_same() -> None:
    """Nine of ten against one and one of two against another is 0.7, though ten of twelve were won."""
    rates = average_win_rate(Counts.of(4, [0, 0, 0, 0], [1, 1, 2, 2], [A, B, A, B], number=[9, 1, 1, 1]))
    assert rates.rate.tolist() == pytest.approx([0.7, 0.1, 0.5, nan], nan_ok=True)
    assert rates.lower[0] < 0.7 < rates.upper[0]
    assert np.isnan(rates.lower[3])


def test_the_average_win_rate_of_one_vote_stays_open() -> None:
    rates = average_win_rate(Counts.of(2, [0], [1], [A]))
    assert rates.rate[0] == rates.upper[0] == 1
    assert rates.lower[0] < 0.7


def test_both_bad_is_a_share_of_all_comparisons_of_a_model() -> None:
    rates = both_bad_rate(Counts.of(4, [0, 0, 0, 1], [1, 1, 1, 2], [A, TIE, BOTH_BAD, BOTH_BAD]))
    assert rates.rate.tolist() == pytest.approx([1 / 3, 1 / 2, 1, nan], nan_ok=True)
    assert rates.lower[2] < 0.3
