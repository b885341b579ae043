"""Places with the doubt in them."""

import numpy as np

from leaderboard.statistics.types import Floats, Ranks

# Ratings closer than this, in points, share a place: they differ by rounding alone.
SAME = 1e-6


def ranks(ratings: Floats, lower: Floats, upper: Floats) -> Ranks:
    """Return the place of each of n models, and the best and worst place that their intervals allow.

    A model is certainly better than another where its whole interval lies above the other's. The best place is
    1 + how many are certainly better, the worst n - how many are certainly worse, as Chatbot Arena does
    (Chiang et al. 2024, Chatbot Arena: An open platform for evaluating LLMs by human preference). All inputs have the
    shape (n,) in points; NaN is a model without a rating: it gets 0 three times and is nobody's rival.
    """
    rated = ~np.isnan(ratings)
    places = np.zeros((3, len(ratings)), dtype=np.int64)
    value, low, high = ratings[rated], lower[rated], upper[rated]
    size = len(value)
    places[0, rated] = 1 + (value[None, :] > value[:, None] + SAME).sum(axis=1)
    places[1, rated] = 1 + size - np.searchsorted(np.sort(low), high, side="right")
    places[2, rated] = size - np.searchsorted(np.sort(high), low, side="left")
    return Ranks(rank=places[0], lower=places[1], upper=places[2])
