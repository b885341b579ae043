"""Places with the doubt in them: ranks, the ranks that the data allow, and tiers."""

import numpy as np
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics.types import Booleans, Floats, Integers, Ranks

# Ratings closer than this, in points, share a place: they differ by rounding alone.
SAME = 1e-6

# What all statements of a board together may be wrong: 5 boards in 100 say one false thing or more.
ALPHA = 0.05


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
    places[0, rated] = _places(value)
    places[1, rated] = 1 + size - np.searchsorted(np.sort(low), high, side="right")
    places[2, rated] = size - np.searchsorted(np.sort(high), low, side="left")
    return Ranks(rank=places[0], lower=places[1], upper=places[2])


def simultaneous_ranks(ratings: Floats, covariance: Floats, *, alpha: float = ALPHA) -> Ranks:
    """Return places, and the best and worst place from comparing all pairs at once.

    With the chance 1 - alpha, *all* true ranks lie within their limits together. See `certainly_better` for the test
    behind it. Shapes (n,) and (n, n), in points and points squared; NaN is a model without a rating, which gets 0.
    Source: Klein, Wright & Wieczorek (2020), A joint confidence region for an overall ranking of populations; Mogstad,
    Romano, Shaikh & Wilhelm (2024), Inference for ranks with applications to mobility across neighbourhoods.
    """
    rated = ~np.isnan(ratings)
    better = certainly_better(ratings, covariance, alpha=alpha)
    places = np.zeros((3, len(ratings)), dtype=np.int64)
    places[0, rated] = _places(ratings[rated])
    places[1] = np.where(rated, 1 + better.sum(axis=0), 0)
    places[2] = np.where(rated, rated.sum() - better.sum(axis=1), 0)
    return Ranks(rank=places[0], lower=places[1], upper=places[2])


def certainly_better(ratings: Floats, covariance: Floats, *, alpha: float = ALPHA) -> Booleans:
    """Whether the model of the row is certainly better than that of the column, (n, n).

    Every difference has its own standard error, from the covariance: two models that met often are told apart although
    their intervals overlap. All n(n - 1) one-sided hypotheses are tested at once by Holm's procedure, so that the
    chance of any false statement is at most alpha.
    Source: Holm (1979), A simple sequentially rejective multiple test procedure.
    """
    n = len(ratings)
    better = np.zeros((n, n), dtype=np.bool_)
    rated = np.flatnonzero(~np.isnan(ratings))
    if len(rated) < 2:
        return better
    value, inner = ratings[rated], covariance[np.ix_(rated, rated)]
    variances = np.diag(inner)
    spread = np.sqrt(np.maximum(variances[:, None] + variances[None, :] - 2 * inner, 1e-12))
    one, other = np.nonzero(~np.eye(len(rated), dtype=np.bool_))
    p = scipy.special.ndtr(-((value[one] - value[other]) / spread[one, other]))
    order = np.argsort(p, kind="stable")
    passes = p[order] * np.arange(len(p), 0, -1) <= alpha
    passed = order[: int(np.argmin(passes)) if not passes.all() else len(p)]
    better[rated[one[passed]], rated[other[passed]]] = True
    return better


def tiers(ratings: Floats, better: Booleans) -> Integers:
    """Return each model's tier, (n,), 1 the best: models that cannot be told from the best of their tier.

    From the top: whoever the tier's best is not certainly better than joins it; the first who falls behind opens the
    next, and nobody below returns to a higher one. `better` is that of `certainly_better`; no rating gives 0.
    """
    tier = np.zeros(len(ratings), dtype=np.int64)
    rated = np.flatnonzero(~np.isnan(ratings))
    best = current = 0
    for model in rated[np.argsort(-ratings[rated], kind="stable")]:
        if not current or better[best, model]:
            best, current = int(model), current + 1
        tier[model] = current
    return tier


def _places(ratings: Floats) -> Integers:
    """1 + how many are better, (n,); none of the ratings is NaN."""
    return np.asarray(1 + (ratings[None, :] > ratings[:, None] + SAME).sum(axis=1), dtype=np.int64)
