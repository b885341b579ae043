"""The pairs of models that met, each once: what the fits of paired comparisons work on."""

from dataclasses import dataclass

import numpy as np

from leaderboard.statistics.types import Booleans, Floats, Integers, Tally


@dataclass(frozen=True, slots=True)
class Pairs:
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
    def of(cls, weight: Tally, square: Tally) -> "Pairs":
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

    def among(self, chosen: Booleans) -> "Pairs":
        """The pairs within the chosen models, which are numbered anew."""
        inside = chosen[self.first] & chosen[self.second]
        number = np.cumsum(chosen) - 1
        return Pairs(
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


def logistic(x: Floats) -> tuple[Floats, Floats, Floats]:
    """The logistic function of x, its logarithm, and that of its complement, from one exponential without overflow."""
    small = np.exp(-np.abs(x))
    rest = -np.log1p(small)
    chances = np.where(x >= 0, 1.0, small) / (1 + small)
    return chances, rest + np.minimum(x, 0), rest - np.maximum(x, 0)
