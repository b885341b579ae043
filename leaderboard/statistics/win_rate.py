"""How often a model wins, and how often it fails: easy to grasp, and unfair to those who met strong opponents."""

import numpy as np

from leaderboard.statistics.types import Z95, Counts, Floats, WinRate


def win_rate(counts: Counts, *, both_bad_as_tie: bool = False) -> WinRate:
    """Return each model's share of points, a tie being half a point, with Wilson's 95% score interval.

    Counts comparisons, not weights: a share of cases is what a reader takes it for. Half points scatter less than whole
    ones, so the interval is a little too wide where ties are many.
    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    number = counts.number.as_ties() if both_bad_as_tie else counts.number
    won = number.wins.sum(axis=1) + number.ties.sum(axis=1) / 2
    played = number.wins.sum(axis=1) + number.wins.sum(axis=0) + number.ties.sum(axis=1)
    return wilson(won, played)


def both_bad_rate(counts: Counts) -> WinRate:
    """Return in what share of a model's comparisons both answers were called bad, with Wilson's 95% score interval.

    It says how often a model fails together with others, which no rating shows.
    """
    number = counts.number
    bad = number.both_bad.sum(axis=1)
    decided = number.wins.sum(axis=1) + number.wins.sum(axis=0) + number.ties.sum(axis=1)
    return wilson(bad, bad + decided)


def average_win_rate(counts: Counts, *, both_bad_as_tie: bool = False) -> WinRate:
    """Return each model's share of points against each opponent, averaged over its opponents, with a 95% interval.

    Every opponent weighs the same, however often it was met, so that whom a model met matters less than in `win_rate`.
    The interval is normal, of shares that have two wins and two losses added each (Agresti & Coull 1998, Approximate
    is better than "exact" for interval estimation of binomial proportions): opponents met once would else have none.
    """
    number = counts.number.as_ties() if both_bad_as_tie else counts.number
    won = number.wins + number.ties / 2
    played = won + won.T
    met = played > 0
    shares = np.divide(won, played, out=np.zeros_like(won), where=met)
    mild = (won + 2) / (played + 4)
    opponents = met.sum(axis=1)
    some = np.where(opponents > 0, opponents, 1)
    rate = shares.sum(axis=1) / some
    half = Z95 * np.sqrt((np.where(met, mild * (1 - mild) / (played + 4), 0.0)).sum(axis=1)) / some
    missing = np.where(opponents > 0, 0.0, np.nan)
    lower, upper = np.clip(rate - half, 0.0, 1.0), np.clip(rate + half, 0.0, 1.0)
    return WinRate(rate=rate + missing, lower=lower + missing, upper=upper + missing, comparisons=played.sum(axis=1))


def wilson(cases: Floats, total: Floats) -> WinRate:
    """Return the share of `cases` in `total`, both of the shape (n,), with Wilson's 95% score interval."""
    some = total > 0
    n = np.where(some, total, 1.0)
    rate = cases / n
    middle = (rate + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * np.sqrt(rate * (1 - rate) / n + Z95**2 / (4 * n**2))
    # At 0 and 1 the interval ends exactly there; rounding must not carry it past.
    lower, upper = np.clip(middle - half, 0.0, rate), np.clip(middle + half, rate, 1.0)
    missing = np.where(some, 0.0, np.nan)
    return WinRate(rate=rate + missing, lower=lower + missing, upper=upper + missing, comparisons=total)
