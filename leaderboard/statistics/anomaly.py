"""Voters who differ from everyone beyond chance, and votes that come in bursts. Scores to look at, not verdicts.

Sources: Chiang et al. (2024), Chatbot Arena, on comparing a person's votes with everyone's; Pregibon (1981), Logistic
regression diagnostics, for leaving one out by a single step; Benjamini & Hochberg (1995), Controlling the false
discovery rate.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used: statistics alone would take a third of every start

from leaderboard.statistics import bradley_terry, newton
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.pairs import Pairs, logistic
from leaderboard.statistics.types import BOTH_BAD, MEAN, POINTS, TIE, A, Booleans, Floats, Integers

# From so many votes on, the normal distribution describes a voter's score well; below, it is drawn.
MANY_VOTES = 100
DRAWS = 2000

# A voter with this share of all votes bends the ratings so much that they are fitted anew without them.
LARGE_SHARE = 0.05

# A burst among this many votes is chance in one of a thousand arenas.
BURST_ALPHA = 0.001


@dataclass(frozen=True, slots=True)
class Voters:
    """One row for each voter, (v,), in the order of the ballots' clusters.

    decided: their votes for one of two models that others rate. z: how far their agreement with everyone lies from what
    is expected of an honest voter, in standard deviations; negative is disagreement. p: the chance that an honest voter
    disagrees as much or more. q: the same with regard to how many voters there are (false discovery rate).
    """

    decided: Integers
    z: Floats
    p: Floats
    q: Floats


@dataclass(frozen=True, slots=True)
class Burst:
    """Votes in a short time: `start` and `end` in seconds, how many, how many were expected, and their chance."""

    start: float
    end: float
    votes: int
    expected: float
    p: float


def voters(ballots: Ballots, *, seed: int) -> Voters:
    """Compare every voter (a cluster of `ballots`) with the ratings that all others give.

    The score is the sum over decided votes of (y - p) log(p / (1 - p)): a vote against a strong favourite costs much,
    and between equals nothing. Ties and both bad are left out.
    """
    size = ballots.clusters
    everyone = bradley_terry.fit(ballots.counts())
    rows = np.flatnonzero((ballots.outcome != TIE) & (ballots.outcome != BOTH_BAD) & everyone.rated[ballots.first])
    voter = ballots.cluster[rows]
    ahead = _ahead_without(ballots, everyone.ratings)[rows]
    known = np.isfinite(ahead)
    rows, voter, ahead = rows[known], voter[known], ahead[known]
    chance = logistic(ahead)[0]
    won = (ballots.outcome[rows] == A).astype(np.float64)
    decided = np.bincount(voter, minlength=size)
    score = np.bincount(voter, weights=(won - chance) * ahead, minlength=size).astype(np.float64)
    spread = np.sqrt(np.bincount(voter, weights=chance * (1 - chance) * ahead**2, minlength=size))
    some = spread > 0
    z = np.divide(score, spread, out=np.zeros(size), where=some)
    p = np.where(some, scipy.stats.norm.cdf(z), 1.0)
    few = some & (decided < MANY_VOTES)
    if few.any():
        p[few] = _drawn(voter, ahead, chance, score, few, np.random.default_rng(seed))
    q = np.asarray(scipy.stats.false_discovery_control(p)) if size else p
    return Voters(np.asarray(decided, dtype=np.int64), z, p, q)


def _drawn(
    voter: Integers, ahead: Floats, chance: Floats, score: Floats, few: Booleans, rng: np.random.Generator
) -> Floats:
    """How often honest voters with the same battles disagree as much, for the voters `few`."""
    inside = few[voter]
    who, x, p = voter[inside], ahead[inside], chance[inside]
    worse = np.zeros(len(few))
    for _ in range(DRAWS):
        drawn = np.bincount(who, weights=((rng.random(len(who)) < p) - p) * x, minlength=len(few))
        worse += drawn <= score + 1e-9
    return np.asarray((1 + worse[few]) / (1 + DRAWS))


def _ahead_without(ballots: Ballots, ratings: Floats) -> Floats:
    """By how much the first of each comparison is ahead, in log-odds, (m,), according to all but its voter."""
    rated = np.isfinite(ratings)
    counted = ballots.rating(rated, both_bad_as_tie=False)
    ahead = np.full(len(counted), np.nan)
    if not counted.any():
        return ahead
    inner = ballots.among(rated, both_bad_as_tie=False)
    strengths = (ratings[rated] - MEAN) / POINTS
    of_all = strengths[inner.first] - strengths[inner.second]
    counts = inner.counts()
    pairs = Pairs.of(counts.weight, counts.square)
    chances = logistic(strengths[pairs.first] - strengths[pairs.second])[0]
    hessian = pairs.laplacian((pairs.won + pairs.lost) * chances * (1 - chances))
    # One step: strengths without a voter are those of all less the inverse Hessian times the voter's own gradient.
    residual = inner.weight * (inner.scores() - logistic(of_all)[0])
    own, cells = np.zeros(ballots.clusters * inner.n), inner.cluster * inner.n
    for ends, sign in ((inner.first, 1), (inner.second, -1)):
        own += np.bincount(cells + ends, weights=sign * residual, minlength=len(own))
    step = own.reshape(-1, inner.n) @ newton.pseudo_inverse(hessian, np.ones(inner.n))
    ahead[counted] = of_all - (step[inner.cluster, inner.first] - step[inner.cluster, inner.second])
    sizes = np.bincount(ballots.cluster, minlength=ballots.clusters)
    for large in np.flatnonzero(sizes >= LARGE_SHARE * len(ballots.cluster)):
        mine = ballots.cluster == large
        others = Ballots(
            ballots.n,
            ballots.cluster[~mine],
            ballots.first[~mine],
            ballots.second[~mine],
            ballots.outcome[~mine],
            ballots.weight[~mine],
        )
        without = bradley_terry.fit(others.counts()).ratings / POINTS
        ahead[mine] = without[ballots.first[mine]] - without[ballots.second[mine]]
    return ahead


def bursts(
    times: npt.ArrayLike,
    *,
    window: float,
    background: npt.ArrayLike | None = None,
    alpha: float = BURST_ALPHA,
) -> list[Burst]:
    """Return the spans of `window` seconds with more votes than chance allows, the least likely first.

    No two overlap. `times`: seconds, such as of the votes for one model or by one person. `background`: the times of
    everyone's votes, those included; then a burst is more than one's share of a busy hour. Without it an even flow is
    expected.
    A vote opens a window, and the others fall into it by a binomial distribution; the chance is multiplied by the
    number of windows (Bonferroni). Raises ValueError on times that are not finite and a window that is not positive.
    """
    mine = np.sort(np.asarray(times, dtype=np.float64))
    all_ = mine if background is None else np.sort(np.asarray(background, dtype=np.float64))
    if not (np.all(np.isfinite(mine)) and np.all(np.isfinite(all_))):
        raise ValueError("a time is not a finite number")
    if not (np.isfinite(window) and window > 0):
        raise ValueError("the window is not a positive number of seconds")
    n = len(mine)
    if n < 2 or (mine[-1] == mine[0] and background is None):
        return []
    ends = mine + window
    inside = np.searchsorted(mine, ends, side="right") - np.arange(n)
    if background is None:
        share = np.full(n, min(1.0, window / (mine[-1] - mine[0])))
    else:
        within = np.searchsorted(all_, ends, side="right") - np.searchsorted(all_, mine, side="left")
        share = np.minimum(1.0, within / max(len(all_), 1))
    p = np.minimum(1.0, n * scipy.stats.binom.sf(inside - 2, n - 1, share))
    found: list[Burst] = []
    for index in np.argsort(p, kind="stable"):
        if p[index] > alpha:
            break
        start, end = float(mine[index]), float(ends[index])
        if all(end < other.start or other.end < start for other in found):
            found.append(Burst(start, end, int(inside[index]), float(1 + (n - 1) * share[index]), float(p[index])))
    return found
