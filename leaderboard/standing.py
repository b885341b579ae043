"""What a method says of a model: its value, and the places that this allows. The shape that pages and API show."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.statistics.ranks import certainly_better, ranks, simultaneous_ranks, tiers
from leaderboard.statistics.types import Floats


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values of n models with their 95% intervals, (n,), NaN without; the covariance, (n, n), where one is known."""

    values: Floats
    lower: Floats
    upper: Floats
    covariance: Floats | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """One model's row under one method; all None for a model without a value."""

    rank: int | None = None
    rank_lower: int | None = None
    rank_upper: int | None = None
    tier: int | None = None
    rating: float | None = None
    rating_lower: float | None = None
    rating_upper: float | None = None

    def packed(self) -> list[float | None]:
        """As a list that JSON can hold; `Place(*packed)` is the way back."""
        return [getattr(self, name) for name in self.__slots__]


def placed(numbers: Numbers) -> list[Place]:
    """Ranks and tiers of n models. With a covariance all pairs are tested at once (the ranks hold together); without
    one a model is ahead of another where their intervals do not overlap."""
    if numbers.covariance is None:
        places = ranks(numbers.values, numbers.lower, numbers.upper)
        better = numbers.lower[:, None] > numbers.upper[None, :]
    else:
        places = simultaneous_ranks(numbers.values, numbers.covariance)
        better = certainly_better(numbers.values, numbers.covariance)
    tier = tiers(numbers.values, better)
    return [
        Place(
            rank=int(places.rank[index]),
            rank_lower=int(places.lower[index]),
            rank_upper=int(places.upper[index]),
            tier=int(tier[index]),
            rating=float(value),
            rating_lower=value_of(numbers.lower, index),
            rating_upper=value_of(numbers.upper, index),
        )
        if not np.isnan(value)
        else Place()
        for index, value in enumerate(numbers.values)
    ]


def value_of(values: Floats | Sequence[float], index: int) -> float | None:
    """The value as a database holds it: NaN is None."""
    value = float(values[index])
    return None if np.isnan(value) else value
