"""Anytime-valid comparison of two models: coverage at every moment, and how many votes it takes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.statistics.sequential import compare, votes_needed
from leaderboard.statistics.types import Floats


def votes(win: float, tie: float, number: int, rng: np.random.Generator) -> Floats:
    drawn = rng.random(number)
    return np.select([drawn < win, drawn < win + tie], [1.0, 0.5], 0.0)


@pytest.mark.parametrize(("win", "tie"), [(0.5, 0.0), (0.3, 0.4), (0.9, 0.05)])
def test_the_truth_is_left_out_at_any_moment_in_one_of_twenty_runs_at_most(win: float, tie: float) -> None:
    """120 runs of 200 votes, looked at after every vote. 5%, and two standard errors more."""
    rng = np.random.default_rng(1)
    truth = win + tie / 2
    left_out = 0
    for _ in range(120):
        sequence = compare(votes(win, tie, 200, rng))
        left_out += bool(np.any((sequence.lower > truth) | (sequence.upper < truth)))
    assert left_out <= 120 * (0.05 + 2 * np.sqrt(0.05 * 0.95 / 120))


def test_two_equal_models_are_told_apart_in_one_of_twenty_runs_at_most() -> None:
    rng = np.random.default_rng(2)
    wrong = sum(compare(votes(0.4, 0.2, 600, rng)).decided_at is not None for _ in range(100))
    assert wrong <= 100 * (0.05 + 2 * np.sqrt(0.05 * 0.95 / 100))


def test_a_clear_difference_is_found_and_the_leader_named() -> None:
    rng = np.random.default_rng(3)
    better, worse = compare(votes(0.7, 0.1, 300, rng)), compare(votes(0.2, 0.1, 300, rng))
    assert (better.leader, worse.leader) == (1, -1)
    assert better.decided_at is not None
    assert better.lower[better.decided_at - 1] >= 0.498
    assert better.lower[better.decided_at - 2] < 0.5


scores = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=60)


@given(scores)
def test_the_interval_only_ever_shrinks_and_the_two_models_may_be_swapped(played: list[float]) -> None:
    one, other = compare(played), compare([1 - score for score in played])
    assert np.all(np.diff(one.lower) >= 0)
    assert np.all(np.diff(one.upper) <= 0)
    assert one.lower == pytest.approx(1 - other.upper)
    assert one.decided_at == other.decided_at
    assert one.leader == -other.leader


def test_later_votes_do_not_change_what_was_said_before() -> None:
    played = votes(0.6, 0.1, 200, np.random.default_rng(4))
    whole, part = compare(played), compare(played[:90])
    assert whole.lower[:90] == pytest.approx(part.lower)
    assert whole.upper[:90] == pytest.approx(part.upper)


def test_one_vote_and_no_vote_decide_nothing() -> None:
    assert compare([1.0]).leader == 0
    assert compare([1.0]).lower[0] < 0.1
    nothing = compare([])
    assert np.isnan(nothing.mean)
    assert nothing.leader == 0


def test_votes_needed_are_what_it_takes_when_the_votes_come() -> None:
    """From 20 votes in the true proportions the rates are known roughly, and so is the answer: within five times."""
    rng = np.random.default_rng(5)
    taken = []
    for _ in range(40):
        decided_at = compare(votes(0.65, 0.1, 800, rng)).decided_at
        assert decided_at is not None
        taken.append(decided_at)
    needed = votes_needed(rng.permutation(np.repeat([1.0, 0.5, 0.0], [13, 2, 5])), seed=1)
    assert needed.median is not None
    assert np.median(taken) / 5 < needed.median < np.median(taken) * 5


def test_the_closer_two_models_are_the_more_votes_it_takes() -> None:
    rng = np.random.default_rng(7)
    far, close = (rng.permutation(np.repeat([1.0, 0.0], [wins, 60 - wins])) for wins in (37, 31))
    far_needed, close_needed = votes_needed(far, seed=1), votes_needed(close, seed=1)
    assert far_needed.decided > close_needed.decided
    assert far_needed.median is not None
    assert close_needed.median is None or far_needed.median < close_needed.median


def test_decided_models_need_no_more_votes() -> None:
    needed = votes_needed(np.ones(100), seed=1)
    assert (needed.median, needed.most, needed.decided) == (0, 0, 1.0)


def test_without_a_vote_the_answer_is_wide_and_the_same_for_the_same_seed() -> None:
    needed = votes_needed([], seed=1, horizon=2000)
    assert needed == votes_needed([], seed=1, horizon=2000)
    assert needed.median is not None
    assert needed.most is None or needed.most > 5 * needed.median


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.1, 1.1])
def test_scores_outside_0_to_1_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        compare([0.5, bad])


@pytest.mark.parametrize("alpha", [0.0, 1.0, np.nan])
def test_an_impossible_alpha_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        compare([1.0], alpha=alpha)
