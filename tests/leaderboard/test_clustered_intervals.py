"""Intervals where comparisons belong together: the pairs of one ranking, the votes of one person."""

import numpy as np
import pytest

from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.bradley_terry import fit
from leaderboard.statistics.types import BOTH_BAD, POINTS, TIE, A, B, BradleyTerry, Integers

TRUTH = np.array([-0.6, -0.2, 0.0, 0.3, 0.5])


def width(fitted: BradleyTerry) -> float:
    return float((fitted.upper - fitted.lower).mean())


def rankings(ballots: int, rng: np.random.Generator) -> tuple[Integers, ...]:
    """Every ballot ranks all five by strength and Gumbel noise, whose pairs follow Bradley-Terry; as winner, loser."""
    order = np.argsort(-(TRUTH + rng.gumbel(size=(ballots, 5))), axis=1)
    better, worse = np.triu_indices(5, 1)
    winners, losers = order[:, better].ravel(), order[:, worse].ravel()
    return np.repeat(np.arange(ballots), len(better)), winners, losers, np.full(len(winners), A)


def test_clustered_intervals_of_rankings_hold_the_truth_as_often_as_they_say() -> None:
    """200 simulated arenas: 95% of 1,000 intervals, give or take four standard errors; independent pairs hold less."""
    rng = np.random.default_rng(3)
    points = 1000 + POINTS * (TRUTH - TRUTH.mean())
    clustered = naive = 0
    for _ in range(200):
        ballots = Ballots.of(5, *rankings(150, rng))
        fitted, independent = fit(ballots.counts(), ballots=ballots), fit(ballots.counts())
        clustered += int(((fitted.lower < points) & (points < fitted.upper)).sum())
        naive += int(((independent.lower < points) & (points < independent.upper)).sum())
    assert 0.92 < clustered / 1000 < 0.98
    assert naive < clustered - 20


def test_ratings_do_not_depend_on_who_voted() -> None:
    ballots = Ballots.of(5, *rankings(50, np.random.default_rng(1)))
    assert fit(ballots.counts(), ballots=ballots).ratings == pytest.approx(fit(ballots.counts()).ratings)


def test_a_ballot_that_says_everything_twice_says_it_once() -> None:
    rows = rankings(60, np.random.default_rng(1))
    once = Ballots.of(5, *rows)
    twice = Ballots.of(5, *(np.concatenate((column, column)) for column in rows))
    assert width(fit(twice.counts(), ballots=twice)) == pytest.approx(width(fit(once.counts(), ballots=once)), rel=1e-3)


def test_single_comparisons_need_not_be_named() -> None:
    cluster, winners, losers, outcome = rankings(60, np.random.default_rng(1))
    every = Ballots.of(5, cluster, winners, losers, outcome)
    alone = (np.array([1, 0, 3]), np.array([0, 1, 2]), np.array([A, TIE, B]))
    joined = [np.concatenate(columns) for columns in zip((winners, losers, outcome), alone, strict=True)]
    whole = Ballots.of(5, np.concatenate((cluster, [900, 901, 902])), *joined)
    assert width(fit(whole.counts(), ballots=every)) == pytest.approx(width(fit(whole.counts(), ballots=whole)))


def test_ballots_on_unrated_models_and_both_bad_add_nothing() -> None:
    cluster, winners, losers, outcome = rankings(60, np.random.default_rng(1))
    columns = [np.concatenate(pair) for pair in ((winners, [5, 0]), (losers, [6, 1]), (outcome, [A, BOTH_BAD]))]
    more = Ballots.of(7, np.concatenate((cluster, [0, 0])), *columns)
    fewer = Ballots.of(5, cluster, winners, losers, outcome)
    assert fit(more.counts(), ballots=more).upper[:5] == pytest.approx(fit(fewer.counts(), ballots=fewer).upper)


def test_a_prior_does_not_hide_that_votes_belong_together() -> None:
    """With a model that only won, the posterior's interval is at least widened to the clustered one."""
    rows = [np.repeat(column, 20) for column in ([0, 1, 2], [0, 1, 2], [1, 2, 0], [A, A, A])]
    columns = [np.append(column, last) for column, last in zip(rows, (9, 3, 0, A), strict=True)]
    ballots = Ballots.of(4, *columns)
    fitted = fit(ballots.counts(), ballots=ballots)
    assert fitted.is_regularised
    assert width(fitted) > 1.2 * width(fit(ballots.counts()))


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        Ballots.of(2, [1, 2], [0], [1], [A])
