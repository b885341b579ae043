"""Rankings as data: who was placed before whom, with ties, partial ones, and a bare choice of the best.

Plackett and Luce see a ranking as choices, one after the other: the best of all, then the best of the rest. A choice
says that one of a *set* was taken, and every set is kept once.
"""

from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics.types import Booleans, Floats, Integers, Tally

# The place of a model that took part and was not placed: all placed ones are better; among such ones nothing is said.
UNPLACED = -1

# Models tied for one place. The orders of k tied ones need 2^k - 1 sets.
MAX_TIED = 12


@dataclass(frozen=True, slots=True)
class Rankings:
    """Rankings as choices. A ranking's log-likelihood is credit @ s - use @ log(sets @ exp(s)), times its weight.

    credit: (rankings, n), how often each model was chosen. sets: (sets, n), ones for the members. use: (rankings,
    sets), how often a choice was made from a set; halves and other parts come from ties. number, weight: (rankings,),
    for how many equal rankings each stands, and what one of them weighs. cluster: (rankings,), which belong together.
    tally: how often who was placed before whom, or tied.
    """

    n: int
    credit: "scipy.sparse.csr_array"
    sets: "scipy.sparse.csr_array"
    use: "scipy.sparse.csr_array"
    number: Floats
    weight: Floats
    cluster: Integers
    tally: Tally

    @classmethod
    def of(
        cls,
        n: int,
        ranking: npt.ArrayLike,
        model: npt.ArrayLike,
        place: npt.ArrayLike,
        *,
        number: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        cluster: npt.ArrayLike | None = None,
    ) -> "Rankings":
        """One row for each model that took part, each column of the shape (m,): ranking, model, and its place.

        Smaller places are better, equal ones are ties, and `UNPLACED` is behind all. A tie counts as all orders of the
        tied, in equal parts. `number` (1), `weight` (1) and `cluster` (each its own) have a value for each different
        value of `ranking`, ascending.
        Raises ValueError on an unknown model, one that is twice in a ranking, other negative places, more than
        `MAX_TIED` tied, and numbers and weights that are not positive.
        """
        named, models, places = (np.asarray(column, dtype=np.int64) for column in (ranking, model, place))
        if not len(named) == len(models) == len(places):
            raise ValueError("the columns differ in length")
        if len(models) and (models.min() < 0 or models.max() >= n):
            raise ValueError(f"a model's index is not within 0..{n - 1}")
        if np.any(places < UNPLACED):
            raise ValueError("a place is negative")
        names, numbers = np.unique(named, return_inverse=True)
        if len(np.unique(numbers * max(n, 1) + models)) != len(models):
            raise ValueError("a model is twice in a ranking")
        one = np.ones(len(names))
        counts, weights = (one if column is None else np.asarray(column, np.float64) for column in (number, weight))
        clusters = np.arange(len(names)) if cluster is None else np.asarray(cluster, dtype=np.int64)
        if not len(counts) == len(weights) == len(clusters) == len(names):
            raise ValueError("number, weight and cluster need one value for each ranking")
        for figures in (counts, weights):
            if not np.all(np.isfinite(figures) & (figures > 0)):
                raise ValueError("a weight is not a positive number")
        order = np.lexsort((models, places, numbers))
        starts = np.searchsorted(numbers[order], np.arange(len(names) + 1))
        rows = [order[start:end] for start, end in pairwise(starts)]
        choices = [_choices(models[row], places[row]) for row in rows]
        _, clusters = np.unique(clusters, return_inverse=True)
        return cls(n, *_matrices(n, choices), counts, weights, clusters, _tally(n, choices, counts))

    def among(self, chosen: Booleans) -> "Rankings":
        """The choices within the chosen models, which are numbered anew; sets must lie within or without."""
        inside = np.asarray(self.sets @ chosen.astype(np.float64)) > 0
        return Rankings(
            int(chosen.sum()),
            scipy.sparse.csr_array(self.credit[:, chosen]),
            scipy.sparse.csr_array(self.sets[inside][:, chosen]),
            scipy.sparse.csr_array(self.use[:, inside]),
            self.number,
            self.weight,
            self.cluster,
            self.tally.among(chosen),
        )


@dataclass(frozen=True, slots=True)
class _Choices:
    """A ranking taken apart: sets with their use, models with their credit, and pairs with 1 (before) or 0 (tied)."""

    uses: list[tuple[tuple[int, ...], float]]
    credits: list[tuple[int, float]]
    pairs: list[tuple[int, int, bool]]


def _choices(models: Integers, places: Integers) -> _Choices:
    groups = [models[places == place].tolist() for place in np.unique(places[places != UNPLACED])]
    behind: list[int] = models[places == UNPLACED].tolist()
    choices = _Choices([], [], [])
    for group in reversed(groups):
        if len(group) > MAX_TIED:
            raise ValueError(f"more than {MAX_TIED} models are tied for one place")
        # In a random order of the tied, the r last of them are each set of r with the same chance.
        for r in range(1, len(group) + 1):
            if r + len(behind) > 1:
                share = 1 / comb(len(group), r)
                choices.uses.extend((tuple(sorted((*last, *behind))), share) for last in combinations(group, r))
        # The last of all is no choice; among tied ones each is last in an equal share of the orders.
        chosen = 1.0 if behind else 1 - 1 / len(group)
        choices.credits.extend((model, chosen) for model in group)
        choices.pairs.extend((better, worse, True) for better in group for worse in behind)
        choices.pairs.extend((one, other, False) for one, other in combinations(group, 2))
        behind = behind + group
    return choices


def _matrices(
    n: int, rankings: list[_Choices]
) -> "tuple[scipy.sparse.csr_array, scipy.sparse.csr_array, scipy.sparse.csr_array]":
    known: dict[tuple[int, ...], int] = {}
    uses = [
        (row, known.setdefault(members, len(known)), share)
        for row, choices in enumerate(rankings)
        for members, share in choices.uses
    ]
    credits = [(row, model, chosen) for row, choices in enumerate(rankings) for model, chosen in choices.credits]
    members = [(row, model, 1.0) for set_, row in known.items() for model in set_]
    return (
        _sparse(credits, (len(rankings), n)),
        _sparse(members, (len(known), n)),
        _sparse(uses, (len(rankings), len(known))),
    )


def _sparse(entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> "scipy.sparse.csr_array":
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    return scipy.sparse.csr_array(
        (np.array(values, dtype=np.float64), (np.array(rows, int), np.array(columns, int))), shape=shape
    )


def _tally(n: int, rankings: list[_Choices], number: Floats) -> Tally:
    wins, ties = np.zeros((n, n)), np.zeros((n, n))
    for choices, times in zip(rankings, number, strict=True):
        for one, other, is_before in choices.pairs:
            if is_before:
                wins[one, other] += times
            else:
                ties[one, other] += times
    return Tally(wins, ties + ties.T, np.zeros((n, n)))
