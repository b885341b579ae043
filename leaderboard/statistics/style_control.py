"""Ratings with the style of the answers held equal: how long they are, and how much they are marked up.

People prefer long and well-formatted answers, so a model can win by style alone. With the differences in style as
covariates, the ratings say who would win between answers of the same style; the coefficients say how much style counts.
Source: Li, Angelopoulos & Chiang (2024), Does style matter? Disentangling style and substance in Chatbot Arena.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leaderboard.statistics import covariates
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.covariates import WithCovariates
from leaderboard.statistics.types import Floats

# The columns of a style, in this order: characters or tokens, headers, bold passages, list items.
FEATURES = ("length", "headers", "bold", "lists")


@dataclass(frozen=True, slots=True)
class StyleControl:
    """`fit`: the ratings at equal style, and a coefficient for each feature. scale: (k,), see `differences`.

    A coefficient is in log-odds for a difference of one standard deviation, so that those of different features can be
    compared. It is 0, with a wide interval, for a feature in which no two answers ever differed.
    """

    fit: WithCovariates
    features: tuple[str, ...]
    scale: Floats


def differences(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return how the sides differ in style, (m, k), and the scale of each feature, (k,).

    Inputs are (m, k), not negative: features of the first and of the second answer. The difference is
    (a - b) / (a + b), 0 where both have nothing, divided by its standard deviation about 0: swapping the sides changes
    the sign alone.
    Raises ValueError on features that are negative or not finite.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape:
        raise ValueError("the columns differ in length")
    if not (np.all(np.isfinite(a) & (a >= 0)) and np.all(np.isfinite(b) & (b >= 0))):
        raise ValueError("a feature of style is negative or not finite")
    total = a + b
    relative = np.divide(a - b, total, out=np.zeros_like(total), where=total > 0)
    scale = np.sqrt((relative**2).mean(axis=0)) if len(relative) else np.zeros(relative.shape[1])
    return np.asarray(relative / np.where(scale > 0, scale, 1.0)), np.asarray(scale)


def style_control(
    ballots: Ballots,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    features: tuple[str, ...] = FEATURES,
    both_bad_as_tie: bool = False,
) -> StyleControl:
    """Fit ratings at equal style to comparisons whose answers have the styles `first` and `second`, (m, k) each.

    Comparisons without known styles are not for here: leave them out. Raises what `covariates.fit` raises.
    """
    table, scale = differences(first, second)
    if table.shape[1] != len(features):
        raise ValueError("there is not one column for each feature")
    return StyleControl(covariates.fit(ballots, table, both_bad_as_tie=both_bad_as_tie), features, scale)
