"""What an experiment shows: distributions by group with intervals, and two groups compared. Pure: rows in, figures out.

Turns of one conversation are not independent, so intervals and tests take conversations as their units.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

RESAMPLES = 1_000
CONFIDENCE = 0.95
# With fewer conversations an interval would promise more than it knows.
CONVERSATIONS_MIN = 3
# Cliff's own words for the size of his delta. Source: Romano et al. 2006
SIZES = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (1.01, "large"))


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
    """Two groups by conversations' means. `delta` is Cliff's, from -1 to 1: how much more often the first is larger
    than smaller; `p` is of the Mann-Whitney test, two-sided."""

    first: str
    second: str
    difference: float
    delta: float
    size: str
    p: float


def summarise(facts: Sequence[Fact]) -> list[Summary]:
    """One summary a group, in the order in which groups come."""
    groups: dict[str, dict[Hashable, list[float]]] = {}
    for fact in facts:
        groups.setdefault(fact.group, {}).setdefault(fact.conversation, []).append(fact.value)
    return [_summary(group, conversations) for group, conversations in groups.items()]


def compare(facts: Sequence[Fact], first: str, second: str) -> Comparison | None:
    """The two groups beside each other; None where one has too few conversations."""
    one, other = (_means(facts, group) for group in (first, second))
    if min(len(one), len(other)) < CONVERSATIONS_MIN:
        return None
    above = float(np.mean(one[:, None] > other[None, :]))
    below = float(np.mean(one[:, None] < other[None, :]))
    delta = above - below
    is_constant = len(set(one) | set(other)) == 1
    p = 1.0 if is_constant else float(stats.mannwhitneyu(one, other, alternative="two-sided").pvalue)
    size = next(word for limit, word in SIZES if abs(delta) < limit)
    return Comparison(first, second, float(one.mean() - other.mean()), delta, size, p)


def _means(facts: Sequence[Fact], group: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    conversations: dict[Hashable, list[float]] = {}
    for fact in facts:
        if fact.group == group:
            conversations.setdefault(fact.conversation, []).append(fact.value)
    return np.array([np.mean(values) for values in conversations.values()], dtype=np.float64)


def _summary(group: str, conversations: Mapping[Hashable, Sequence[float]]) -> Summary:
    values = np.concatenate([np.asarray(one, dtype=float) for one in conversations.values()])
    low, first, median, third, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    lower, upper = _interval(conversations)
    return Summary(
        group, len(values), len(conversations), float(values.mean()), lower, upper,
        float(low), float(first), float(median), float(third), float(high),
    )  # fmt: skip


def _interval(conversations: Mapping[Hashable, Sequence[float]]) -> tuple[float | None, float | None]:
    """Of the mean over turns, by drawing whole conversations anew; always the same for the same rows."""
    if len(conversations) < CONVERSATIONS_MIN:
        return None, None
    sums = np.array([sum(one) for one in conversations.values()])
    counts = np.array([len(one) for one in conversations.values()])
    drawn = np.random.default_rng(1).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    lower, upper = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(lower), float(upper)
