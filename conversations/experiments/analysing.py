"""What an experiment shows: distributions by group with intervals, and groups compared. Pure: facts in, figures out.

Turns of one conversation are not independent, so intervals and tests take conversations as their units.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used: statistics alone would take a third of every start

RESAMPLES = 1_000
CONFIDENCE = 0.95
# With fewer conversations an interval would promise more than it knows.
CONVERSATIONS_MIN = 3
# Cliff's own words for the size of his delta. Source: Romano et al. 2006
SIZES = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (1.01, "large"))

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fact:
    """One turn: its group, the conversation that it belongs to, and the measure."""

    group: str
    conversation: Hashable
    value: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The distribution of one group. `lower` and `upper` hold the mean at 95%; None with too few conversations."""

    group: str
    turns: int
    conversations: int
    mean: float
    lower: float | None
    upper: float | None
    low: float
    first: float
    median: float
    third: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two groups. `difference` is that of the means, `lower` and `upper` hold it at 95%.

    By conversations' means: `delta` is Cliff's, from -1 to 1: how much more often the first is larger than smaller; `p`
    is of the Mann-Whitney test, two-sided, and `p_held` the same held by Holm's method against the number of groups
    that are compared beside it.
    """

    first: str
    second: str
    difference: float
    lower: float
    upper: float
    delta: float
    size: str
    p: float
    p_held: float


@dataclass(frozen=True, slots=True)
class _Group:
    """The facts of one group by conversation: sums and numbers of turns, in the order of `conversations`."""

    conversations: tuple[Hashable, ...]
    sums: Floats
    counts: Floats

    @property
    def mean(self) -> float:
        return float(self.sums.sum() / self.counts.sum())

    @property
    def means(self) -> Floats:
        return self.sums / self.counts


def summarise(facts: Iterable[Fact]) -> list[Summary]:
    """One summary a group, in the order in which groups come."""
    values: dict[str, list[float]] = {}
    facts = list(facts)
    for fact in facts:
        values.setdefault(fact.group, []).append(fact.value)
    return [_summary(name, np.array(values[name]), group) for name, group in _groups(facts).items()]


def compare(facts: Iterable[Fact], first: str, second: str) -> Comparison | None:
    """The two groups beside each other; None where one has too few conversations."""
    return next(iter(compare_pairs(facts, [(first, second)])), None)


def compare_all(facts: Iterable[Fact], groups: Sequence[str]) -> list[Comparison]:
    """Every two of these groups that have conversations enough."""
    return compare_pairs(facts, list(combinations(groups, 2)))


def compare_pairs(facts: Iterable[Fact], pairs: Iterable[tuple[str, str]]) -> list[Comparison]:
    """Those of the pairs whose groups both have conversations enough, with `p_held` against their number."""
    groups = _groups(facts)
    large = {name: group for name, group in groups.items() if len(group.conversations) >= CONVERSATIONS_MIN}
    draws: dict[str, Floats] = {}
    found = [_comparison(first, second, large, draws) for first, second in pairs if first in large and second in large]
    held = holm([one.p for one in found])
    return [replace(one, p_held=p) for one, p in zip(found, held, strict=True)]


def holm(values: Sequence[float]) -> list[float]:
    """p-values held against their number by Holm's step-down method. Source: Holm 1979."""
    order = sorted(range(len(values)), key=values.__getitem__)
    held, highest = [1.0] * len(values), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, values[at] * (len(values) - rank)))
        held[at] = highest
    return held


def _groups(facts: Iterable[Fact]) -> dict[str, _Group]:
    found: dict[str, dict[Hashable, list[float]]] = {}
    for fact in facts:
        one = found.setdefault(fact.group, {}).setdefault(fact.conversation, [0.0, 0.0])
        one[0] += fact.value
        one[1] += 1
    return {name: _group(conversations) for name, conversations in found.items()}


def _group(conversations: Mapping[Hashable, Sequence[float]]) -> _Group:
    both = np.array(list(conversations.values()), dtype=np.float64)
    return _Group(tuple(conversations), both[:, 0], both[:, 1])


def _summary(name: str, values: Floats, group: _Group) -> Summary:
    low, first, median, third, high = (float(one) for one in np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]))
    lower, upper = _held(_drawn_means(group)) if len(group.conversations) >= CONVERSATIONS_MIN else (None, None)
    return Summary(
        name, len(values), len(group.conversations), group.mean, lower, upper, low, first, median, third, high
    )


def _comparison(first: str, second: str, groups: Mapping[str, _Group], draws: dict[str, Floats]) -> Comparison:
    one, other = groups[first], groups[second]
    shared = set(one.conversations) & set(other.conversations)
    if shared:
        differences = _drawn_together(one, other)
    else:
        for seed, name in ((1, first), (2, second)):
            draws.setdefault(f"{name}\0{seed}", _drawn_means(groups[name], seed))
        differences = draws[f"{first}\0{1}"] - draws[f"{second}\0{2}"]
    lower, upper = _held(differences)
    left, right = one.means, other.means
    delta, p = 0.0, 1.0
    if len(set(left) | set(right)) > 1:
        test = scipy.stats.mannwhitneyu(left, right, alternative="two-sided")
        delta = float(2 * test.statistic / (len(left) * len(right)) - 1)
        p = float(test.pvalue)
    size = next(word for limit, word in SIZES if abs(delta) < limit)
    return Comparison(first, second, one.mean - other.mean, lower, upper, delta, size, p, p)


def _drawn_means(group: _Group, seed: int = 1) -> Floats:
    """The mean over turns, with whole conversations drawn anew; always the same for the same facts."""
    at = _drawn(len(group.conversations), seed)
    means: Floats = group.sums[at].sum(axis=1) / group.counts[at].sum(axis=1)
    return means


def _drawn_together(one: _Group, other: _Group) -> Floats:
    """The difference of the means of groups that speak in the same conversations, which are drawn for both at once. A
    draw that leaves one of them without a turn is left out."""
    place = {name: at for at, name in enumerate(dict.fromkeys((*one.conversations, *other.conversations)))}
    at = _drawn(len(place), seed=1)
    means = []
    for group in (one, other):
        where = [place[name] for name in group.conversations]
        sums, counts = np.zeros(len(place)), np.zeros(len(place))
        sums[where], counts[where] = group.sums, group.counts
        turns = counts[at].sum(axis=1)
        means.append(np.divide(sums[at].sum(axis=1), turns, out=np.full(RESAMPLES, np.nan), where=turns > 0))
    differences: Floats = means[0] - means[1]
    return differences[~np.isnan(differences)]


def _drawn(size: int, seed: int) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, size, (RESAMPLES, size))


def _held(draws: Floats) -> tuple[float, float]:
    lower, upper = np.quantile(draws, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(lower), float(upper)
