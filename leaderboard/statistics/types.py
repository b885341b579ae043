"""What goes into the statistics and what comes out: frozen, and numbers only.

Models are indices 0..n-1 here; who they are is the caller's affair. Arrays are float64 unless said.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

# Codes of an outcome, seen from the first model of a comparison.
A, B, TIE, BOTH_BAD = range(4)

# Log-odds to points: 400 points are odds of ten to one. Source: Elo (1978), The Rating of Chessplayers.
SCALE, BASE, MEAN = 400.0, 10.0, 1000.0
POINTS = float(SCALE / np.log(BASE))

# Two-sided 95% of the normal distribution.
Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Tally:
    """One figure for every pair of models and outcome; each array has the shape (n, n) and a zero diagonal.

    `wins[i, j]` is about i beating j; `ties` and `both_bad` are symmetric.
    """

    wins: Floats
    ties: Floats
    both_bad: Floats

    def as_ties(self) -> "Tally":
        """The same with both bad counted as a tie."""
        return Tally(self.wins, self.ties + self.both_bad, np.zeros_like(self.both_bad))

    def among(self, chosen: Booleans) -> "Tally":
        """The same within the chosen models, which are numbered anew."""
        inside = np.ix_(chosen, chosen)
        return Tally(self.wins[inside], self.ties[inside], self.both_bad[inside])


@dataclass(frozen=True, slots=True)
class Counts:
    """All comparisons, added up: their number, the sum of their weights, and the sum of their squared weights.

    The three are equal where every weight is 1. Squares are what the sandwich covariance needs of weighted data.
    """

    number: Tally
    weight: Tally
    square: Tally

    @property
    def n(self) -> int:
        """How many models there are."""
        return len(self.number.wins)

    def among(self, chosen: Booleans) -> "Counts":
        """The comparisons within the chosen models, which are numbered anew."""
        return Counts(self.number.among(chosen), self.weight.among(chosen), self.square.among(chosen))

    @classmethod
    def of(
        cls,
        n: int,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        outcome: npt.ArrayLike,
        *,
        number: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        square: npt.ArrayLike | None = None,
    ) -> "Counts":
        """Add up comparisons, or groups of equal ones, given as columns of the shape (m,).

        `first` and `second` are indices of models, `outcome` one of A, B, TIE, BOTH_BAD. `number` is how many
        comparisons a row stands for (1), `weight` the sum of their weights (their number) and `square` the sum of
        the squared weights (weight squared over number: exact where the weights within a row are equal).
        Raises ValueError on a model against itself, an unknown outcome or index, and a figure that is not positive
        (NaN and infinite ones included).
        """
        i, j, kind = (np.asarray(column, dtype=np.int64) for column in (first, second, outcome))
        numbers = np.ones(len(i)) if number is None else np.asarray(number, dtype=np.float64)
        weights = numbers if weight is None else np.asarray(weight, dtype=np.float64)
        given = [numbers, weights] if square is None else [numbers, weights, np.asarray(square, dtype=np.float64)]
        if len({len(column) for column in (i, j, kind, *given)}) != 1:
            raise ValueError("the columns differ in length")
        for name, column in zip(("number", "weight", "sum of squares"), given, strict=False):
            if not np.all(np.isfinite(column) & (column > 0)):
                raise ValueError(f"a {name} is not a positive number")
        squares = weights**2 / numbers if square is None else given[2]
        if len(i) and (min(i.min(), j.min()) < 0 or max(i.max(), j.max()) >= n):
            raise ValueError(f"a model's index is not within 0..{n - 1}")
        if np.any(i == j):
            raise ValueError("a model is compared with itself")
        if np.any((kind < A) | (kind > BOTH_BAD)):
            raise ValueError("an outcome is unknown")
        return cls(*(_tally(n, i, j, kind, column) for column in (numbers, weights, squares)))


def _tally(n: int, first: Integers, second: Integers, outcome: Integers, value: Floats) -> Tally:
    # One bincount over cells outcome * n² + first * n + second is many times faster than np.add.at.
    cells = np.bincount((outcome * n + first) * n + second, weights=value, minlength=4 * n * n)
    table = cells.astype(np.float64).reshape(4, n, n)
    return Tally(
        wins=table[A] + table[B].T,
        ties=table[TIE] + table[TIE].T,
        both_bad=table[BOTH_BAD] + table[BOTH_BAD].T,
    )


@dataclass(frozen=True, slots=True)
class Fit:
    """What all fits say. Every array has the shape (n,) and is NaN for models that cannot be placed on the common
    scale.

    ratings, lower, upper: points; the rated models' mean is 1000. `covariance`: (n, n), points squared, of ratings
    measured from their mean. `rated`: who is on the scale. `group`: who is connected with whom; 0 are the rated, -1 met
    nobody. `one_sided`: models that only won or only lost, whose rating the prior alone bounds.
    `is_regularised`: wins and losses alone do not determine finite ratings, so a weak prior was added.
    """

    ratings: Floats
    lower: Floats
    upper: Floats
    covariance: Floats
    rated: Booleans
    group: Integers
    one_sided: Booleans
    is_regularised: bool


Placed = tuple[Floats, Floats, Floats, Floats]


def unplaced(n: int) -> Placed:
    """Ratings, their 95% bounds and their covariance, where nobody can be rated."""
    return np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan), np.full((n, n), np.nan)


def placed(rated: Booleans, strengths: Floats, of_rated: Floats) -> Placed:
    """Ratings in points, their 95% bounds and their covariance, from the rated models' log-odds and their
    covariance."""
    ratings, lower, upper, covariance = unplaced(len(rated))
    half = Z95 * POINTS * np.sqrt(np.diag(of_rated))
    ratings[rated] = MEAN + POINTS * (strengths - strengths.mean())
    lower[rated], upper[rated] = ratings[rated] - half, ratings[rated] + half
    covariance[np.ix_(rated, rated)] = POINTS**2 * of_rated
    return ratings, lower, upper, covariance


@dataclass(frozen=True, slots=True)
class BradleyTerry(Fit):
    """log_likelihood: nats, over all comparisons of the rated models, prior not included."""

    log_likelihood: float
    comparisons: float
    solver: str
    iterations: int
    tolerance: float

    @property
    def log_likelihood_per_comparison(self) -> float:
        """Nats for one comparison of weight 1; 0 where there is none. A coin flip is -0.693."""
        return self.log_likelihood / self.comparisons if self.comparisons else 0.0


@dataclass(frozen=True, slots=True)
class Ranks:
    """Places of n models, 1 the best, shape (n,); 0 for a model without a rating.

    `lower` and `upper` are the best and the worst place that the intervals allow.
    """

    rank: Integers
    lower: Integers
    upper: Integers


@dataclass(frozen=True, slots=True)
class Elo:
    """Online ratings in points, shape (n,), after `games` games of step `k`."""

    ratings: Sequence[float]
    games: int
    k: float
    solver: str = "online"


@dataclass(frozen=True, slots=True)
class EloHistory:
    """Ratings in points after each of the `periods`: shape (periods, n), NaN for who had not played by then."""

    periods: Sequence[int]
    ratings: Floats
    k: float


@dataclass(frozen=True, slots=True)
class WinRate:
    """A share of cases with a 95% interval; each array has the shape (n,) and is NaN where there is no case.

    `comparisons` is how many cases the share is of.
    """

    rate: Floats
    lower: Floats
    upper: Floats
    comparisons: Floats
