"""Bradley-Terry ratings from aggregated comparisons: maximum likelihood, with robust intervals.

The model: P(i beats j) = 1 / (1 + exp(s_j - s_i)). A tie is half a win for each. *Both bad* says nothing about which
of two is better, and is left out unless the caller asks for it to count as a tie.

Sources: Bradley & Terry (1952), Rank analysis of incomplete block designs; Ford (1957) and Hunter (2004), MM algorithms
for generalized Bradley-Terry models, on when finite ratings exist; White (1982), Maximum likelihood estimation of
misspecified models, for the covariance; lmarena/arena-rank for its use on aggregated counts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics import connectivity
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.pairs import Pairs, logistic
from leaderboard.statistics.types import (
    Booleans,
    BradleyTerry,
    Counts,
    Floats,
    placed,
    unplaced,
)

# Log-odds. Newton's method doubles the correct digits with each step, so after a step as small as this the error is
# some 1e-14, which is rounding.
TOLERANCE = 1e-7
MAX_ITERATIONS = 100

# Added to the Hessian's diagonal for each comparison when the covariance is taken, as arena-rank does: it keeps the
# inverse finite and shortens the intervals of the reference data by at most 0.4%.
RIDGE = 1e-5

# Where no finite maximum exists, every model gets this many ties against an imagined average contender. One tie is the
# weakest prior with a meaning that can be said; after some ten real comparisons it hardly shows.
PRIOR_TIES = 1.0

# The sandwich measures how far outcomes scatter about the fit. Of a model with few wins and losses it has seen too
# little scatter to measure (one tie would give an interval of no width), so up to here the wider of it and the model's
# own (Fisher) interval is taken.
DECISIVE_NEEDED = 10


@dataclass(frozen=True, slots=True)
class _Point:
    """The objective at some strengths: its value in nats, and the first one's chance of winning each pair, (m,)."""

    strengths: Floats
    likelihood: float
    value: float
    chances: Floats

    @classmethod
    def at(cls, strengths: Floats, pairs: Pairs, prior: float) -> "_Point":
        ahead = strengths[pairs.first] - strengths[pairs.second]
        chances, log_won, log_lost = logistic(ahead)
        likelihood = float(pairs.won @ log_won + pairs.lost @ log_lost)
        _, log_above, log_below = logistic(strengths)
        return cls(strengths, likelihood, likelihood + prior / 2 * float(np.sum(log_above + log_below)), chances)


def fit(counts: Counts, *, both_bad_as_tie: bool = False, ballots: Ballots | None = None) -> BradleyTerry:
    """Fit the ratings of n models in points (400 points are odds of 10 to 1, mean 1000) with 95% intervals.

    Ratings compare only within a group of models that comparisons connect. The largest group is rated (the one with
    more comparisons where two are as large); all others are NaN, for no figure about them would be true. A group in
    which some models only ever won (or lost) against the rest has no finite maximum: it is fitted with a weak prior,
    `PRIOR_TIES`, and says so in `is_regularised`; its intervals are then the posterior's (Laplace) instead of the
    sandwich's, which has no meaning at a boundary.

    `counts` holds all comparisons. `ballots` names those among them that are not independent of each other (the pairs
    of one ranking, or a person's votes): the ratings stay as they are and the intervals are clustered.
    Raises ArithmeticError if Newton's method does not converge.
    """
    weight, square, number = (
        tally.as_ties() if both_bad_as_tie else tally for tally in (counts.weight, counts.square, counts.number)
    )
    everyone = Pairs.of(weight, square)
    group = connectivity.of_pairs(everyone)
    rated = group == connectivity.RATED
    pairs = everyone if rated.all() else everyone.among(rated)
    prior = 0.0 if connectivity.pairs_determine(pairs) else PRIOR_TIES
    best, iterations = maximise(pairs, prior)
    ratings, lower, upper, covariance = unplaced(counts.n)
    if rated.any():
        decisive = (number.wins + number.wins.T).sum(axis=1)[rated]
        together = ballots.among(rated, both_bad_as_tie=both_bad_as_tie) if ballots is not None else None
        of_rated = _covariance(best, pairs, prior, decisive < DECISIVE_NEEDED, together)
        ratings, lower, upper, covariance = placed(rated, best.strengths, of_rated)
    return BradleyTerry(
        ratings=ratings,
        lower=lower,
        upper=upper,
        covariance=covariance,
        rated=rated,
        group=group,
        one_sided=connectivity.one_sided(everyone),
        is_regularised=prior > 0,
        log_likelihood=best.likelihood,
        comparisons=float(pairs.won.sum() + pairs.lost.sum()),
        solver="newton",
        iterations=iterations,
        tolerance=TOLERANCE,
    )


def _covariance(point: _Point, pairs: Pairs, prior: float, few: Booleans, ballots: Ballots | None) -> Floats:
    """The covariance (n, n) in log-odds squared of strengths measured from their mean.

    `few` marks models with too few wins and losses for the sandwich alone.
    """
    if prior:
        posterior = centred(np.linalg.inv(_hessian(point, pairs, prior)))
        if ballots is None:
            return posterior
        return wider(centred(_sandwich(point, pairs, prior, ballots)), posterior, np.ones(pairs.n, dtype=np.bool_))
    robust = _sandwich(point, pairs, prior, ballots)
    if not few.any():
        return robust
    hessian = _hessian(point, pairs, prior)
    return wider(robust, centred(np.linalg.inv(hessian + np.trace(hessian) / pairs.n**2)), few)


def _hessian(point: _Point, pairs: Pairs, prior: float) -> Floats:
    """The negative Hessian (n, n) of the objective."""
    hessian = pairs.laplacian((pairs.won + pairs.lost) * point.chances * (1 - point.chances))
    if prior:
        alone, _, _ = logistic(point.strengths)
        hessian += np.diag(prior * alone * (1 - alone))
    return hessian


def maximise(pairs: Pairs, prior: float) -> tuple[_Point, int]:
    """Newton's method with step halving, from equal strengths: the maximum, and the iterations taken.

    The objective is concave. Without a prior its Hessian is singular along the vector of ones, since only differences
    matter; adding a multiple of 11' removes that direction and leaves the step, which sums to 0, unchanged.
    """
    point = _Point.at(np.zeros(pairs.n), pairs, prior)
    if pairs.n < 2:
        return point, 0
    # Where rounding is all that is left, a step may lower the value by this much.
    noise = 1e-12 * (1 + abs(point.value))
    for iteration in range(1, MAX_ITERATIONS + 1):
        hessian = _hessian(point, pairs, prior)
        gradient = pairs.by_model(pairs.won - (pairs.won + pairs.lost) * point.chances)
        if prior:
            gradient += prior * (0.5 - logistic(point.strengths)[0])
        else:
            hessian += np.trace(hessian) / pairs.n**2
        step = scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(hessian, check_finite=False), gradient, check_finite=False
        )
        size = float(np.abs(step).max())
        moved = _Point.at(point.strengths + step, pairs, prior)
        while moved.value < point.value - noise:
            step = step / 2
            moved = _Point.at(point.strengths + step, pairs, prior)
        point = moved
        if size < TOLERANCE:
            return point, iteration
    raise ArithmeticError(f"Newton's method did not converge in {MAX_ITERATIONS} iterations")


def _sandwich(point: _Point, pairs: Pairs, prior: float, ballots: Ballots | None) -> Floats:
    """White's sandwich, (n, n) in log-odds squared: inverse Hessian, covariance of the scores, inverse Hessian.

    A win's residual is 1 - p and a tie's 1/2 - p, each weighted by its squared weight. No model is the anchor: the
    scores sum to 0, and so the strengths that they move are measured from their mean.
    """
    p, hessian = point.chances, _hessian(point, pairs, prior)
    wins, losses, ties = pairs.scatter
    scatter = pairs.laplacian(wins * (1 - p) ** 2 + losses * p**2 + ties * (0.5 - p) ** 2)
    if ballots is not None:
        scatter += ballots.extra_scatter(point.strengths)
    ridge = RIDGE * float(pairs.won.sum() + pairs.lost.sum())
    inverse = np.linalg.inv(hessian + ridge * np.eye(pairs.n))
    return np.asarray(inverse @ scatter @ inverse)


def wider(robust: Floats, other: Floats, who: Booleans) -> Floats:
    """The covariance `robust`, (n, n), with what it lacks against the variances of `other` added for the models `who`.

    Adding D C D with a diagonal D and a covariance C keeps it a covariance.
    """
    have, want = np.diag(robust), np.diag(other)
    lacking = np.where(who & (want > have), want - have, 0.0)
    part = np.sqrt(lacking / np.where(want > 0, want, 1.0))
    return np.asarray(robust + part[:, None] * other * part[None, :])


def centred(covariance: npt.NDArray[np.floating[Any]]) -> Floats:
    """The covariance (n, n) of strengths measured from their mean."""
    less_columns = covariance - covariance.mean(axis=0, keepdims=True)
    return np.asarray(less_columns - less_columns.mean(axis=1, keepdims=True))
