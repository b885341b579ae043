"""Which pairs to compare next, for those who choose for themselves. Pure and seeded."""

import math
from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Literal

Strategy = Literal["uncertainty", "moderate_margin", "random"]
STRATEGIES: tuple[Strategy, ...] = ("uncertainty", "moderate_margin", "random")

# Points between two models whose next comparison is neither a coin flip nor settled: odds of about 2 to 1.
MARGIN_POINTS = 120.0


def suggest(
    ratings: Sequence[float | None], errors: Sequence[float | None], k: int, strategy: Strategy, rng: Random
) -> list[tuple[int, int]]:
    """Return up to `k` pairs of indices, the most useful first.

    `ratings` and their standard `errors` are in points; None for a model without one, whose pairs come first but in
    "random". "uncertainty" prefers pairs whose difference is least known against its size, "moderate_margin" those
    about MARGIN_POINTS apart.
    """
    pairs = list(combinations(range(len(ratings)), 2))
    rng.shuffle(pairs)
    if strategy != "random":
        pairs.sort(key=lambda pair: _rank(pair, ratings, errors, strategy))
    return pairs[:k]


def _rank(
    pair: tuple[int, int], ratings: Sequence[float | None], errors: Sequence[float | None], strategy: Strategy
) -> float:
    """The lower, the more useful."""
    (first, second), (one, other) = (ratings[i] for i in pair), (errors[i] for i in pair)
    if first is None or second is None or one is None or other is None:
        return -1.0
    apart = abs(first - second)
    if strategy == "moderate_margin":
        return abs(apart - MARGIN_POINTS)
    # How many standard errors the two are apart: near 0 nothing is known yet.
    return apart / max(math.hypot(one, other), 1e-9)
