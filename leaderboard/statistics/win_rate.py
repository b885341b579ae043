"""How often a model wins: easy to grasp, and unfair to those who met strong opponents."""

import numpy as np

from leaderboard.statistics.types import Z95, Counts, WinRate


def win_rate(counts: Counts, *, both_bad_as_tie: bool = False) -> WinRate:
    """Return each model's share of points, a tie being half a point, with Wilson's 95% score interval.

    Counts comparisons, not weights: a share of cases is what a reader takes it for. Half points scatter less than whole
    ones, so the interval is a little too wide where ties are many.
    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    number = counts.number.as_ties() if both_bad_as_tie else counts.number
    won = number.wins.sum(axis=1) + number.ties.sum(axis=1) / 2
    played = number.wins.sum(axis=1) + number.wins.sum(axis=0) + number.ties.sum(axis=1)
    some = played > 0
    n = np.where(some, played, 1.0)
    rate = won / n
    middle = (rate + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * np.sqrt(rate * (1 - rate) / n + Z95**2 / (4 * n**2))
    # At 0 and 1 the interval ends exactly there; rounding must not carry it past.
    lower, upper = np.clip(middle - half, 0.0, rate), np.clip(middle + half, rate, 1.0)
    missing = np.where(some, 0.0, np.nan)
    return WinRate(rate=rate + missing, lower=lower + missing, upper=upper + missing, comparisons=played)
