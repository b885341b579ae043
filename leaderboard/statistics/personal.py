"""One person's ranking: their own votes, smoothed by what everyone thinks.

A person votes too little for ratings of their own. Everyone's rating is therefore the prior of theirs, from which their
votes lead away: maximum a posteriori, with the interval of the normal approximation there (Laplace).
Source: Gelman et al. (2013), Bayesian Data Analysis, ch. 4 and 5, on partial pooling.
"""

from dataclasses import dataclass

import numpy as np

from leaderboard.statistics import newton
from leaderboard.statistics.newton import Local
from leaderboard.statistics.pairs import Pairs, logistic
from leaderboard.statistics.types import MEAN, POINTS, Z95, Counts, Floats

# How far a person's rating of a model is thought to lie from everyone's, in points, as a standard deviation. So large,
# the prior says as much about a model as some twelve comparisons with equals: 4 / (100 / 173.7)².
SPREAD = 100.0


@dataclass(frozen=True, slots=True)
class Personal:
    """A person's ratings, (n,), in points on everyone's scale, with 95% intervals.

    `comparisons`: how many of their own there are for each model; where it is 0, the rating is everyone's.
    `shift`: how far their votes moved each model from everyone's rating, in points.
    """

    ratings: Floats
    lower: Floats
    upper: Floats
    shift: Floats
    comparisons: Floats
    iterations: int
    solver: str = "newton"
    tolerance: float = newton.TOLERANCE


def personal(counts: Counts, everyone: Floats, *, spread: float = SPREAD, both_bad_as_tie: bool = False) -> Personal:
    """Return the ratings of one person from their comparisons, `counts`, and everyone's ratings, (n,), in points.

    NaN in `everyone` is a model without a rating: its prior is the mean, 1000. `spread` is in points.
    Raises ValueError where `spread` is not a positive number.
    """
    if not (np.isfinite(spread) and spread > 0):
        raise ValueError("the spread is not a positive number")
    weight, square, number = (
        tally.as_ties() if both_bad_as_tie else tally for tally in (counts.weight, counts.square, counts.number)
    )
    pairs = Pairs.of(weight, square)
    known = np.where(np.isnan(everyone), MEAN, everyone)
    centre = (known - MEAN) / POINTS
    precision = (POINTS / spread) ** 2
    played = pairs.won + pairs.lost

    def local(at: Floats) -> Local:
        chances, won, lost = logistic(at[pairs.first] - at[pairs.second])
        off = at - centre
        return Local(
            float(pairs.won @ won + pairs.lost @ lost) - precision / 2 * float(off @ off),
            pairs.by_model(pairs.won - played * chances) - precision * off,
            pairs.laplacian(played * chances * (1 - chances)) + precision * np.eye(pairs.n),
        )

    comparisons = (number.wins + number.wins.T + number.ties).sum(axis=1)
    if not counts.n:
        return Personal(known, known, known, known, comparisons, 0)
    best = newton.maximise(local, centre)
    half = Z95 * POINTS * np.sqrt(np.diag(np.linalg.inv(best.local.hessian)))
    ratings = MEAN + POINTS * best.at
    return Personal(ratings, ratings - half, ratings + half, ratings - known, comparisons, best.iterations)
