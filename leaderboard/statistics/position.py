"""Whether the side that is shown first wins more often than it should, models being equal.

Sides are given at random, so position does not bias ratings; it says how carefully people (or a judge) compare.
Source: Davidson & Beaver (1977), On extending the Bradley-Terry model to incorporate within-pair order effects.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leaderboard.statistics import covariates
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.covariates import WithCovariates


@dataclass(frozen=True, slots=True)
class PositionEffect:
    """How often the first of two equal models wins (ties being half), with a 95% interval; NaN without comparisons.

    `log_odds` is the same on the scale of the model. `fit`: the ratings with the effect taken out.
    """

    rate: float
    lower: float
    upper: float
    log_odds: float
    fit: WithCovariates

    @property
    def is_certain(self) -> bool:
        """Whether the interval leaves out a fair half."""
        return self.lower > 0.5 or self.upper < 0.5


def position_effect(
    ballots: Ballots, *, number: npt.ArrayLike | None = None, both_bad_as_tie: bool = False
) -> PositionEffect:
    """Estimate the advantage of the first side from comparisons whose `first` model was shown first.

    `number`, (m,), is how many equal comparisons a row stands for, so that a GROUP BY of ordered pairs will do.
    Raises what `covariates.fit` raises.
    """
    fitted = covariates.fit(ballots, np.ones((len(ballots.first), 1)), number=number, both_bad_as_tie=both_bad_as_tie)
    odds = (fitted.coefficients[0], fitted.coefficients_lower[0], fitted.coefficients_upper[0])
    rate, lower, upper = (float(1 / (1 + np.exp(-value))) for value in odds)
    return PositionEffect(rate, lower, upper, float(odds[0]), fitted)
