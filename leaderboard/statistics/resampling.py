"""Draws for the bootstrap: how often every kind of ballot comes up in a resample.

Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.pairs import Pairs
from leaderboard.statistics.types import TIE, A, Floats, Integers, Tally

# Poisson draws fall short of the total on purpose, by this many standard deviations, and are then topped up.
SHORT_BY = 5.0

# Below this total the shortfall would be a good part of it.
SMALL = 1000


@dataclass(frozen=True, slots=True)
class Kinds:
    """The different ballots: how many there are of each, and what one of each adds to the points of the pairs.

    number: (k,). won, lost: (m pairs, k), sparse.
    """

    number: Integers
    won: "scipy.sparse.csr_array"
    lost: "scipy.sparse.csr_array"

    def draw(self, rounds: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Points won and lost by the first of each pair in each resample, each of the shape (m, rounds)."""
        drawn = multinomial(self.number, rounds, rng).astype(np.float64)
        return np.asarray(self.won @ drawn), np.asarray(self.lost @ drawn)


def multinomial(number: Integers, rounds: int, rng: np.random.Generator) -> Integers:
    """Resamples, (k, rounds), of as many items as `number`, (k,), adds up to, with those chances.

    Independent Poisson draws whose sum is T are multinomial of total T. So Poisson numbers a little below the wanted
    total are drawn, and the few that are missing are drawn singly, which is exact and twice as fast as the conditional
    binomials of NumPy's multinomial. A sum above the total (one in three million) is drawn again.
    """
    total = int(number.sum())
    if total < SMALL:
        return np.ascontiguousarray(rng.multinomial(total, number / max(total, 1), size=rounds).T, dtype=np.int64)
    expected = (number * (1 - SHORT_BY / np.sqrt(total)))[:, None]
    drawn = rng.poisson(expected, size=(len(number), rounds))
    while (over := drawn.sum(axis=0) > total).any():
        drawn[:, over] = rng.poisson(expected, size=(len(number), int(over.sum())))
    ends = np.cumsum(number)
    for column, missing in enumerate(total - drawn.sum(axis=0)):
        kinds = np.searchsorted(ends, rng.integers(0, total, missing), side="right")
        drawn[:, column] += np.bincount(kinds, minlength=len(number))
    return np.asarray(drawn, dtype=np.int64)


def kinds_of(pairs: Pairs, number: Tally, weight: Tally, ballots: Ballots | None) -> Kinds:
    """The ballots behind these comparisons: single ones by pair and outcome, and those of several pairs by content.

    `number` and `weight` count all comparisons, those on `ballots` included. Comparisons of one pair and outcome are
    taken to weigh the same, namely their mean.
    """
    i, j = pairs.first, pairs.second
    cells = [[tally.wins[i, j], tally.wins[j, i], tally.ties[i, j]] for tally in (number, weight)]
    counts, weights = (np.concatenate(columns) for columns in cells)
    m = len(i)
    pair = np.tile(np.arange(m), 3)
    share = np.repeat([1.0, 0.0, 0.5], m)
    extra = _Contents.of(pairs, ballots) if ballots is not None and len(ballots.cluster) else None
    if extra is not None:
        # Sums of floats that were added up elsewhere may leave dust.
        counts = np.maximum(np.rint(counts - extra.cells), 0)
        weights = np.where(counts > 0, weights - extra.cell_weights, 0.0)
    some = counts > 0
    counts, pair, share = counts[some], pair[some], share[some]
    each = np.maximum(weights[some] / counts, 0.0)
    k = np.arange(len(counts))
    won = scipy.sparse.csr_array((each * share, (pair, k)), shape=(m, len(k)))
    lost = scipy.sparse.csr_array((each * (1 - share), (pair, k)), shape=(m, len(k)))
    numbers = counts.astype(np.int64)
    if extra is None:
        won.eliminate_zeros()
        lost.eliminate_zeros()
        return Kinds(numbers, won, lost)
    return Kinds(
        np.concatenate((numbers, extra.number)),
        _beside(won, extra.won),
        _beside(lost, extra.lost),
    )


def _beside(left: "scipy.sparse.csr_array", right: "scipy.sparse.csr_array") -> "scipy.sparse.csr_array":
    both = scipy.sparse.csr_array(scipy.sparse.hstack((left, right), format="csr"))
    both.eliminate_zeros()
    return both


@dataclass(frozen=True, slots=True)
class _Contents:
    """Different contents of ballots, and what all ballots together take from the cells (won, lost, tied; 3m)."""

    number: Integers
    won: "scipy.sparse.csr_array"
    lost: "scipy.sparse.csr_array"
    cells: Floats
    cell_weights: Floats

    @classmethod
    def of(cls, pairs: Pairs, ballots: Ballots) -> "_Contents":
        m = len(pairs.first)
        index = np.zeros((pairs.n, pairs.n), dtype=np.int64)
        index[pairs.first, pairs.second] = index[pairs.second, pairs.first] = np.arange(m)
        pair = index[ballots.first, ballots.second]
        forward = ballots.first == pairs.first[pair]
        cell = np.where(ballots.outcome == TIE, 2, np.where((ballots.outcome == A) == forward, 0, 1)) * m + pair
        cells = np.bincount(cell, minlength=3 * m).astype(np.float64)
        cell_weights = np.bincount(cell, weights=ballots.weight, minlength=3 * m).astype(np.float64)
        number, cell, weight, kind = _alike(ballots.cluster, cell, ballots.weight)
        share = np.array([1.0, 0.0, 0.5])[cell // m]
        shape = (m, len(number))
        won = scipy.sparse.csr_array((weight * share, (cell % m, kind)), shape=shape)
        lost = scipy.sparse.csr_array((weight * (1 - share), (cell % m, kind)), shape=shape)
        return cls(number, won, lost, cells, cell_weights)


def _alike(cluster: Integers, cell: Integers, weight: Floats) -> tuple[Integers, Integers, Floats, Integers]:
    """Clusters with the same content, made one: the number of each kind, and its rows as cell, weight and kind."""
    order = np.lexsort((weight, cell, cluster))
    cell, weight = cell[order], weight[order]
    _, starts, sizes = np.unique(cluster[order], return_index=True, return_counts=True)
    numbers, cells, weights, kinds = [], [], [], []
    made = 0
    for size in np.unique(sizes):
        rows = starts[sizes == size][:, None] + np.arange(size)
        content = np.hstack((cell[rows].astype(np.float64), weight[rows]))
        distinct, number = np.unique(content, axis=0, return_counts=True)
        numbers.append(number)
        cells.append(distinct[:, :size].astype(np.int64).ravel())
        weights.append(distinct[:, size:].ravel())
        kinds.append(np.repeat(np.arange(made, made + len(number)), size))
        made += len(number)
    return (
        np.concatenate(numbers).astype(np.int64),
        np.concatenate(cells),
        np.concatenate(weights),
        np.concatenate(kinds),
    )
