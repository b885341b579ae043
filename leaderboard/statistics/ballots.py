"""Comparisons that belong together: the pairs of one ballot, or all votes of one person.

A ranking of k models gives k(k - 1)/2 pairs, but it is one opinion. Counting the pairs as independent would make the
intervals too short, so the sandwich and the bootstrap take whole ballots.
Source: Liang & Zeger (1986), Longitudinal data analysis using generalized linear models.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics.types import BOTH_BAD, TIE, A, B, Booleans, Counts, Floats, Integers


@dataclass(frozen=True, slots=True)
class Ballots:
    """Comparisons one by one, each array of the shape (m,); rows with the same `cluster` are one opinion.

    Clusters are numbered 0..clusters-1. Rows alone in their cluster may be left out: they change nothing.
    """

    n: int
    cluster: Integers
    first: Integers
    second: Integers
    outcome: Integers
    weight: Floats

    @classmethod
    def of(
        cls,
        n: int,
        cluster: npt.ArrayLike,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        outcome: npt.ArrayLike,
        *,
        weight: npt.ArrayLike | None = None,
    ) -> "Ballots":
        """Columns of the shape (m,); `cluster` is any whole number that names the ballot or the voter.

        Raises ValueError on what `Counts.of` refuses.
        """
        i, j, kind = (np.asarray(column, dtype=np.int64) for column in (first, second, outcome))
        weights = np.ones(len(i)) if weight is None else np.asarray(weight, dtype=np.float64)
        named = np.asarray(cluster, dtype=np.int64)
        if len(named) != len(i):
            raise ValueError("the columns differ in length")
        Counts.of(n, i, j, kind, weight=weights)  # refuses what is impossible
        _, numbers = np.unique(named, return_inverse=True)
        return cls(n, np.asarray(numbers, dtype=np.int64), i, j, kind, weights)

    @property
    def clusters(self) -> int:
        """How many ballots, or voters, there are."""
        return int(self.cluster.max()) + 1 if len(self.cluster) else 0

    def counts(self, number: Floats | None = None) -> Counts:
        """The same comparisons added up; `number`, (m,), is how many each row stands for."""
        times = np.ones(len(self.first)) if number is None else number
        return Counts.of(self.n, self.first, self.second, self.outcome, number=times, weight=times * self.weight)

    def rating(self, chosen: Booleans, *, both_bad_as_tie: bool) -> Booleans:
        """Which rows rate the chosen models, (m,)."""
        counted = both_bad_as_tie | (self.outcome != BOTH_BAD)
        return np.asarray(counted & chosen[self.first] & chosen[self.second])

    def among(self, chosen: Booleans, *, both_bad_as_tie: bool) -> "Ballots":
        """The rows that rate the chosen models, which are numbered anew; both bad is dropped or made a tie."""
        kind = np.where(self.outcome == BOTH_BAD, TIE, self.outcome) if both_bad_as_tie else self.outcome
        kept = self.rating(chosen, both_bad_as_tie=both_bad_as_tie)
        number = np.cumsum(chosen) - 1
        return Ballots(
            int(chosen.sum()),
            self.cluster[kept],
            number[self.first[kept]],
            number[self.second[kept]],
            kind[kept],
            self.weight[kept],
        )

    def scores(self) -> Floats:
        """Points of the first model of each row, (m,): 1, 0 or a half. Both bad must have been dropped."""
        return np.select([self.outcome == A, self.outcome == B], [1.0, 0.0], 0.5)

    def extra_scatter(self, strengths: Floats) -> Floats:
        """What the clusters add to the scatter (n, n) of independent comparisons, at some strengths in log-odds.

        It is the sum over clusters of u u' less that over rows, u being the gradient of the log-likelihood.
        """
        ahead = strengths[self.first] - strengths[self.second]
        residual = self.weight * (self.scores() - 1 / (1 + np.exp(-ahead)))
        rows = np.arange(len(residual))
        twice = (np.concatenate((rows, rows)), np.concatenate((self.first, self.second)))
        signed = np.concatenate((residual, -residual))
        single = scipy.sparse.csr_array((signed, twice), shape=(len(rows), self.n))
        whole = scipy.sparse.csr_array(
            (signed, (np.concatenate((self.cluster, self.cluster)), twice[1])), shape=(self.clusters, self.n)
        )
        return np.asarray((whole.T @ whole).toarray() - (single.T @ single).toarray())
