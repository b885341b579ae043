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
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from leaderboard.statistics.types import MEAN, POINTS, Z95, Booleans, BradleyTerry, Counts, Floats, Integers, Tally

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
class _Pairs:
    """The pairs that met, each once, with first < second; every array has the shape (m,).

    `won` and `lost` are the points (weighted wins and half ties) of the first and of the second; `scatter` holds the
    squared weights of wins of the first, of the second, and of ties.
    """

    n: int
    first: Integers
    second: Integers
    won: Floats
    lost: Floats
    scatter: tuple[Floats, Floats, Floats]

    @classmethod
    def of(cls, weight: Tally, square: Tally) -> "_Pairs":
        first, second = np.nonzero(np.triu(weight.wins + weight.wins.T + weight.ties))
        half = weight.ties[first, second] / 2
        return cls(
            n=len(weight.wins),
            first=first,
            second=second,
            won=weight.wins[first, second] + half,
            lost=weight.wins[second, first] + half,
            scatter=(square.wins[first, second], square.wins[second, first], square.ties[first, second]),
        )

    def among(self, chosen: Booleans) -> "_Pairs":
        """The pairs within the chosen models, which are numbered anew."""
        inside = chosen[self.first] & chosen[self.second]
        number = np.cumsum(chosen) - 1
        return _Pairs(
            n=int(chosen.sum()),
            first=number[self.first[inside]],
            second=number[self.second[inside]],
            won=self.won[inside],
            lost=self.lost[inside],
            scatter=(self.scatter[0][inside], self.scatter[1][inside], self.scatter[2][inside]),
        )

    def laplacian(self, values: Floats) -> Floats:
        """The matrix (n, n) sum over pairs of value (e_first - e_second)(e_first - e_second)'."""
        matrix = np.zeros((self.n, self.n))
        matrix[self.first, self.second] = matrix[self.second, self.first] = -values
        np.fill_diagonal(matrix, -matrix.sum(axis=1))
        return matrix

    def by_model(self, values: Floats) -> Floats:
        """Sums (n,) of values that count for the first of each pair and against the second."""
        plus = np.bincount(self.first, weights=values, minlength=self.n)
        return np.asarray(plus - np.bincount(self.second, weights=values, minlength=self.n))


@dataclass(frozen=True, slots=True)
class _Point:
    """The objective at some strengths: its value in nats, and the first one's chance of winning each pair, (m,)."""

    strengths: Floats
    likelihood: float
    value: float
    chances: Floats

    @classmethod
    def at(cls, strengths: Floats, pairs: _Pairs, prior: float) -> "_Point":
        ahead = strengths[pairs.first] - strengths[pairs.second]
        chances, log_won, log_lost = _logistic(ahead)
        likelihood = float(pairs.won @ log_won + pairs.lost @ log_lost)
        _, log_above, log_below = _logistic(strengths)
        return cls(strengths, likelihood, likelihood + prior / 2 * float(np.sum(log_above + log_below)), chances)


def _logistic(x: Floats) -> tuple[Floats, Floats, Floats]:
    """The logistic function of x, its logarithm, and that of its complement, from one exponential without overflow."""
    small = np.exp(-np.abs(x))
    rest = -np.log1p(small)
    chances = np.where(x >= 0, 1.0, small) / (1 + small)
    return chances, rest + np.minimum(x, 0), rest - np.maximum(x, 0)


def fit(counts: Counts, *, both_bad_as_tie: bool = False) -> BradleyTerry:
    """Fit the ratings of n models in points (400 points are odds of 10 to 1, mean 1000) with 95% intervals.

    Ratings compare only within a group of models that comparisons connect. The largest group is rated (the one with
    more comparisons where two are as large); all others are NaN, for no figure about them would be true. A group in
    which some models only ever won (or lost) against the rest has no finite maximum: it is fitted with a weak prior,
    `PRIOR_TIES`, and says so in `is_regularised`; its intervals are then the posterior's (Laplace) instead of the
    sandwich's, which has no meaning at a boundary. Raises ArithmeticError if Newton's method does not converge.
    """
    weight, square, number = (
        tally.as_ties() if both_bad_as_tie else tally for tally in (counts.weight, counts.square, counts.number)
    )
    everyone = _Pairs.of(weight, square)
    rated = _largest_group(everyone)
    pairs = everyone if rated.all() else everyone.among(rated)
    prior = 0.0 if _is_determined(pairs) else PRIOR_TIES
    best, iterations = _maximise(pairs, prior)
    ratings, lower, upper = (np.full(counts.n, np.nan) for _ in range(3))
    if rated.any():
        if prior:
            variances = np.diag(_centred(np.linalg.inv(_hessian(best, pairs, prior))))
        else:
            decisive = (number.wins + number.wins.T).sum(axis=1)[rated]
            variances = _robust_variances(best, pairs, decisive)
        half = Z95 * POINTS * np.sqrt(variances)
        ratings[rated] = MEAN + POINTS * (best.strengths - best.strengths.mean())
        lower[rated], upper[rated] = ratings[rated] - half, ratings[rated] + half
    return BradleyTerry(
        ratings=ratings,
        lower=lower,
        upper=upper,
        rated=rated,
        is_regularised=prior > 0,
        log_likelihood=best.likelihood,
        comparisons=float(pairs.won.sum() + pairs.lost.sum()),
        solver="newton",
        iterations=iterations,
        tolerance=TOLERANCE,
    )


def _largest_group(pairs: _Pairs) -> Booleans:
    """Who is rated, (n,): the largest set of models that wins and ties connect; nobody where nothing was compared."""
    if not len(pairs.first):
        return np.zeros(pairs.n, dtype=np.bool_)
    played = pairs.won + pairs.lost
    graph = csr_array((played, (pairs.first, pairs.second)), shape=(pairs.n, pairs.n))
    _, group = connected_components(graph, directed=False)
    sizes = np.bincount(group)
    volumes = np.bincount(group[pairs.first], weights=played, minlength=len(sizes))
    return np.asarray(group == np.lexsort((volumes, sizes))[-1])


def _is_determined(pairs: _Pairs) -> bool:
    """Ford's condition: the maximum is finite where everyone is reached from everyone over wins and ties."""
    above, below = pairs.won > 0, pairs.lost > 0
    winners = np.concatenate((pairs.first[above], pairs.second[below]))
    losers = np.concatenate((pairs.second[above], pairs.first[below]))
    graph = csr_array((np.ones(len(winners)), (winners, losers)), shape=(pairs.n, pairs.n))
    groups, _ = connected_components(graph, connection="strong")
    return groups <= 1


def _hessian(point: _Point, pairs: _Pairs, prior: float) -> Floats:
    """The negative Hessian (n, n) of the objective."""
    hessian = pairs.laplacian((pairs.won + pairs.lost) * point.chances * (1 - point.chances))
    if prior:
        alone, _, _ = _logistic(point.strengths)
        hessian += np.diag(prior * alone * (1 - alone))
    return hessian


def _maximise(pairs: _Pairs, prior: float) -> tuple[_Point, int]:
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
            gradient += prior * (0.5 - _logistic(point.strengths)[0])
        else:
            hessian += np.trace(hessian) / pairs.n**2
        step = cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        size = float(np.abs(step).max())
        moved = _Point.at(point.strengths + step, pairs, prior)
        while moved.value < point.value - noise:
            step = step / 2
            moved = _Point.at(point.strengths + step, pairs, prior)
        point = moved
        if size < TOLERANCE:
            return point, iteration
    raise ArithmeticError(f"Newton's method did not converge in {MAX_ITERATIONS} iterations")


def _robust_variances(point: _Point, pairs: _Pairs, decisive: Floats) -> Floats:
    """White's sandwich, (n,) in log-odds squared: inverse Hessian times covariance of the scores times inverse Hessian.

    A win's residual is 1 - p and a tie's 1/2 - p, each weighted by its squared weight. `decisive` is how many wins and
    losses each model has, (n,).
    """
    p, hessian = point.chances, _hessian(point, pairs, 0.0)
    wins, losses, ties = pairs.scatter
    scatter = pairs.laplacian(wins * (1 - p) ** 2 + losses * p**2 + ties * (0.5 - p) ** 2)
    ridge = RIDGE * float(pairs.won.sum() + pairs.lost.sum())
    inverse = np.linalg.inv(hessian + ridge * np.eye(pairs.n))
    # Only the diagonal of inverse · scatter · inverse is wanted; both are symmetric.
    sandwich = np.asarray(((inverse @ scatter) * inverse).sum(axis=1))
    few = decisive < DECISIVE_NEEDED
    if few.any():
        fisher = np.diag(_centred(np.linalg.inv(hessian + np.trace(hessian) / pairs.n**2)))
        sandwich[few] = np.maximum(sandwich, fisher)[few]
    return sandwich


def _centred(covariance: npt.NDArray[np.floating[Any]]) -> Floats:
    """The covariance of strengths measured from their mean."""
    less_columns = covariance - covariance.mean(axis=0, keepdims=True)
    return np.asarray(less_columns - less_columns.mean(axis=1, keepdims=True))
