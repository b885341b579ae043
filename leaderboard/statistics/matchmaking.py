"""Who meets whom. Pure and seeded; knows only numbers."""

from collections.abc import Sequence
from random import Random


def draw(weights: Sequence[float], k: int, rng: Random) -> list[int]:
    """Return the indices of `k` different contenders in random order, drawn by weight without replacement.

    A weight of 0 is never drawn. Raises ValueError where fewer than `k` weights are positive.
    Source: Efraimidis & Spirakis (2006), Weighted random sampling with a reservoir.
    """
    keys = [(rng.expovariate(1.0) / weight, index) for index, weight in enumerate(weights) if weight > 0]
    if len(keys) < k:
        raise ValueError(f"{k} contenders are needed, and {len(keys)} can be drawn")
    drawn = [index for _, index in sorted(keys)[:k]]
    rng.shuffle(drawn)
    return drawn
