"""Bradley-Terry ratings from aggregated comparisons: maximum likelihood, with robust intervals.

The model: P(i beats j) = 1 / (1 + exp(s_j - s_i)). A tie is half a win for each. *Both bad* says nothing about which
of two is better, and is left out unless the caller asks for it to count as a tie.

Sources: Bradley & Terry (1952), Rank analysis of incomplete block designs; Ford (1957) and Hunter (2004), MM algorithms
for generalized Bradley-Terry models, on when finite ratings exist; White (1982), Maximum likelihood estimation of
misspecified models, for the covariance; lmarena/arena-rank for its use on aggregated counts.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit

from leaderboard.statistics.types import MEAN, POINTS, Z95, Booleans, BradleyTerry, Counts, Floats, Tally

# Newton's method doubles its digits with each step, so the last step before this bound is far below it. Log-odds.
TOLERANCE = 1e-9
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


def fit(counts: Counts, *, both_bad_as_tie: bool = False) -> BradleyTerry:
    """Fit the ratings of n models in points (400 points are odds of 10 to 1, mean 1000) with 95% intervals.

    Ratings compare only within a group of models that comparisons connect. The largest group is rated (the one with
    more comparisons where two are as large); all others are NaN, for no figure about them would be true. A group in
    which some models only ever won (or lost) against the rest has no finite maximum: it is fitted with a weak prior,
    `PRIOR_TIES`, and says so in `is_regularised`; its intervals are then the posterior's (Laplace) instead of the
    sandwich, which has no meaning at a boundary. Raises ArithmeticError if Newton's method does not converge.
    """
    weight = counts.weight.as_ties() if both_bad_as_tie else counts.weight
    square = counts.square.as_ties() if both_bad_as_tie else counts.square
    number = counts.number.as_ties() if both_bad_as_tie else counts.number
    rated = _largest_group(weight)
    ratings, lower, upper = (np.full(counts.n, np.nan) for _ in range(3))
    inside = np.ix_(rated, rated)
    wins, ties = weight.wins[inside], weight.ties[inside]
    score = wins + ties / 2
    # Ford's condition: the maximum is finite where everyone is reachable from everyone over wins and ties.
    is_regularised = bool(rated.any()) and connected_components(score > 0, connection="strong")[0] > 1
    strengths, iterations = _maximise(score, PRIOR_TIES if is_regularised else 0.0)
    if rated.any():
        if is_regularised:
            variances = _posterior_variances(strengths, score)
        else:
            decisive = (number.wins + number.wins.T)[inside].sum(axis=1)
            squares = Tally(square.wins[inside], square.ties[inside], square.both_bad[inside])
            variances = _robust_variances(strengths, score, squares, decisive)
        half = Z95 * POINTS * np.sqrt(variances)
        ratings[rated] = MEAN + POINTS * (strengths - strengths.mean())
        lower[rated], upper[rated] = ratings[rated] - half, ratings[rated] + half
    return BradleyTerry(
        ratings=ratings,
        lower=lower,
        upper=upper,
        rated=rated,
        is_regularised=is_regularised,
        log_likelihood=float(np.sum(score * log_expit(_differences(strengths)))),
        comparisons=float(score.sum()),
        solver="newton",
        iterations=iterations,
        tolerance=TOLERANCE,
    )


def _largest_group(weight: Tally) -> Booleans:
    """Who is rated: the largest set of models that wins and ties connect; nobody where nothing was compared."""
    met = weight.wins + weight.wins.T + weight.ties
    if not met.any():
        return np.zeros(len(met), dtype=np.bool_)
    _, group = connected_components(met > 0, directed=False)
    sizes = np.bincount(group)
    volumes = np.bincount(group, weights=met.sum(axis=1))
    return np.asarray(group == np.lexsort((volumes, sizes))[-1])


def _differences(strengths: Floats) -> Floats:
    return np.asarray(strengths[:, None] - strengths[None, :])


def _laplacian(pairs: Floats) -> Floats:
    """The matrix sum over pairs of v_ij (e_i - e_j)(e_i - e_j)' of symmetric values (n, n)."""
    return np.asarray(np.diag(pairs.sum(axis=1)) - pairs)


def _objective(strengths: Floats, score: Floats, prior: float) -> float:
    likelihood = np.sum(score * log_expit(_differences(strengths)))
    return float(likelihood + prior / 2 * np.sum(log_expit(strengths) + log_expit(-strengths)))


def _curvature(strengths: Floats, score: Floats, prior: float) -> tuple[Floats, Floats]:
    """Win probabilities (n, n) and the negative Hessian (n, n) of the objective."""
    chances = expit(_differences(strengths))
    hessian = _laplacian((score + score.T) * chances * (1 - chances))
    alone = expit(strengths)
    return np.asarray(chances), hessian + np.diag(prior * alone * (1 - alone))


def _maximise(score: Floats, prior: float) -> tuple[Floats, int]:
    """Newton's method with step halving: log-odds (n,), and the iterations taken.

    The objective is concave. Without a prior its Hessian is singular along the vector of ones, since only differences
    matter; adding 11'/n removes that direction and leaves the step, which sums to 0, unchanged.
    """
    n = len(score)
    strengths = np.zeros(n)
    if n < 2:
        return strengths, 0
    played = score + score.T
    value = _objective(strengths, score, prior)
    # Where rounding is all that is left, a step may lower the sum by this much.
    noise = 1e-12 * (1 + abs(value))
    for iteration in range(1, MAX_ITERATIONS + 1):
        chances, hessian = _curvature(strengths, score, prior)
        gradient = (score - played * chances).sum(axis=1) + prior * (0.5 - expit(strengths))
        scale = np.trace(hessian) / n
        step = cho_solve(cho_factor(hessian if prior else hessian + scale / n), gradient)
        size = float(np.abs(step).max())
        while (moved := _objective(strengths + step, score, prior)) < value - noise:
            step = step / 2
        strengths, value = strengths + step, moved
        if size < TOLERANCE:
            return strengths, iteration
    raise ArithmeticError(f"Newton's method did not converge in {MAX_ITERATIONS} iterations")


def _robust_variances(strengths: Floats, score: Floats, square: Tally, decisive: Floats) -> Floats:
    """White's sandwich: inverse Hessian · covariance of the scores · inverse Hessian; its diagonal (n,), log-odds².

    A win's residual is 1 - p, a tie's 1/2 - p, weighted by the squared weights.
    """
    chances, hessian = _curvature(strengths, score, 0.0)
    residuals = square.wins * (1 - chances) ** 2
    scatter = residuals + residuals.T + square.ties * (0.5 - chances) ** 2
    n = len(score)
    inverse = cho_solve(cho_factor(hessian + RIDGE * score.sum() * np.eye(n)), np.eye(n))
    sandwich = np.einsum("ij,jk,ik->i", inverse, _laplacian(scatter), inverse, optimize=True)
    fisher = np.diag(_centred(np.linalg.inv(hessian + np.trace(hessian) / n**2)))
    return np.where(decisive < DECISIVE_NEEDED, np.maximum(sandwich, fisher), sandwich)


def _posterior_variances(strengths: Floats, score: Floats) -> Floats:
    """Laplace's approximation with the prior: the diagonal (n,) of the inverse Hessian at mean 0, in log-odds²."""
    _, hessian = _curvature(strengths, score, PRIOR_TIES)
    return np.asarray(np.diag(_centred(np.linalg.inv(hessian))))


def _centred(covariance: Floats) -> Floats:
    """The covariance of strengths measured from their mean."""
    less_columns = covariance - covariance.mean(axis=0, keepdims=True)
    return np.asarray(less_columns - less_columns.mean(axis=1, keepdims=True))
