"""Who can be compared with whom, and whether comparisons determine finite ratings.

Sources: Ford (1957), Solution of a ranking problem from binary comparisons; Hunter (2004), MM algorithms for
generalized Bradley-Terry models.
"""

import numpy as np
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics.pairs import Pairs
from leaderboard.statistics.types import Booleans, Floats, Integers

# Numbers of groups: the one that is rated, and of a model without any comparison.
RATED, ALONE = 0, -1


def components(n: int, first: Integers, second: Integers, volume: Floats) -> Integers:
    """The group of each of n models, (n,): within a group everyone is connected, directly or through others.

    Group 0 is the largest (the one with more `volume` where two are as large); -1 is a model that met nobody.
    `first`, `second` and `volume` are the pairs that met, (m,).
    """
    if not len(first):
        return np.full(n, ALONE, dtype=np.int64)
    graph = scipy.sparse.csr_array((np.ones(len(first)), (first, second)), shape=(n, n))
    _, group = scipy.sparse.csgraph.connected_components(graph, directed=False)
    sizes = np.bincount(group)
    volumes = np.bincount(group[first], weights=volume, minlength=len(sizes))
    # Equal ones in the order of their first model, so that the numbering is always the same.
    order = np.lexsort((np.arange(len(sizes)), -volumes, -sizes))
    number = np.empty(len(sizes), dtype=np.int64)
    number[order] = np.arange(len(sizes))
    number[sizes == 1] = ALONE
    return np.asarray(number[group], dtype=np.int64)


def of_pairs(pairs: Pairs) -> Integers:
    """The groups, (n,), that these pairs make."""
    return components(pairs.n, pairs.first, pairs.second, pairs.won + pairs.lost)


def is_determined(n: int, winners: Integers, losers: Integers) -> bool:
    """Ford's condition: the maximum is finite where everyone is reached from everyone over wins and ties.

    A tie is an edge in both directions.
    """
    graph = scipy.sparse.csr_array((np.ones(len(winners)), (winners, losers)), shape=(n, n))
    groups, _ = scipy.sparse.csgraph.connected_components(graph, connection="strong")
    return bool(groups <= 1)


def pairs_determine(pairs: Pairs, won: Booleans | None = None, lost: Booleans | None = None) -> bool:
    """Ford's condition on pairs; `won` and `lost` say who has points, by default according to the pairs' own."""
    above = pairs.won > 0 if won is None else won
    below = pairs.lost > 0 if lost is None else lost
    winners = np.concatenate((pairs.first[above], pairs.second[below]))
    losers = np.concatenate((pairs.second[above], pairs.first[below]))
    return is_determined(pairs.n, winners, losers)


def has_circle(n: int, winners: Integers, losers: Integers) -> bool:
    """Whether some models beat each other in a circle, of two or more."""
    graph = scipy.sparse.csr_array((np.ones(len(winners)), (winners, losers)), shape=(n, n))
    groups, _ = scipy.sparse.csgraph.connected_components(graph, connection="strong")
    return bool(groups < n)


def one_sided(pairs: Pairs) -> Booleans:
    """Models, (n,), that met others and only ever won, or only ever lost: their ratings have no natural bound."""
    points, given = (
        np.bincount(pairs.first, weights=mine, minlength=pairs.n)
        + np.bincount(pairs.second, weights=theirs, minlength=pairs.n)
        for mine, theirs in ((pairs.won, pairs.lost), (pairs.lost, pairs.won))
    )
    return np.asarray((points > 0) ^ (given > 0))
