"""Comparing two models while votes come in: intervals that hold at every moment, however often one looks.

An ordinary 95% interval that is looked at after each vote leaves the truth out sooner or later. A confidence sequence
does so with a chance of 5% over the whole time, so one may stop when the two are told apart. Half the stake bets that
the mean score lies above a value and half that it lies below; where the stake grows 20-fold, the value is out.
Source: Waudby-Smith & Ramdas (2024), Estimating means of bounded random variables by betting, sections 4.3 and 4.4
(the hedged capital process with predictable plug-in bets).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leaderboard.statistics.types import Floats

ALPHA = 0.05

# No bet risks more than this share of what it could lose, so that no single vote ruins it.
MOST_RISKED = 0.5

# Values of the mean score that are bet against. The bounds are rounded outwards to these, by 0.002 at most.
GRID = np.linspace(0.0, 1.0, 501)
BLOCK_CELLS = 1_000_000

# A simulation of the votes to come: how many futures, how far, and how many votes are drawn at once.
FUTURES, HORIZON, STRIDE = 400, 10_000, 500


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """The mean score of the first of two models (1 a win, 1/2 a tie, 0 a loss) after each of t votes.

    lower, upper: (t,), together they hold the true mean at every moment with the chance 1 - alpha. `decided_at`: after
    how many votes the two were told apart, None if they are not. All is open before the first vote: 0 to 1.
    """

    mean: float
    lower: Floats
    upper: Floats
    decided_at: int | None
    alpha: float

    @property
    def leader(self) -> int:
        """1 where the first is better, -1 where the second is, 0 while that is open."""
        if self.decided_at is None:
            return 0
        return 1 if self.mean > 0.5 else -1


@dataclass(frozen=True, slots=True)
class VotesNeeded:
    """How many more votes tell two models apart, in simulated futures.

    median, most: in half and in nine of ten futures no more are needed; None where that is beyond `horizon`.
    decided: the share of futures that are decided within the horizon.
    """

    median: int | None
    most: int | None
    decided: float
    horizon: int


def compare(scores: npt.ArrayLike, *, alpha: float = ALPHA) -> ConfidenceSequence:
    """Return the confidence sequence of scores, (t,), in the order in which the votes came.

    Votes must be independent of each other: of a person who votes on the same pair again, take the first. Takes some
    10 ms for 1,000 votes. Raises ValueError on scores outside 0..1 and an alpha outside 0..1.
    """
    x = _checked(scores, alpha)
    if not len(x):
        return ConfidenceSequence(np.nan, x, x, None, alpha)
    bets = _bets(x[None, :], _Past.none(1), alpha)[0]
    threshold = np.log(2 / alpha)
    lower, upper = np.zeros(len(x)), np.ones(len(x))
    block = max(1, BLOCK_CELLS // len(x))
    for start in range(0, len(GRID), block):
        values = GRID[start : start + block, None]
        above, below = (np.cumsum(part, axis=1) for part in _log_wins(x, bets, values))
        # A bet on a higher mean wins less the higher the value it is against, so what is out lies below one bound.
        lower = np.maximum(lower, np.where(above >= threshold, values, 0.0).max(axis=0))
        upper = np.minimum(upper, np.where(below >= threshold, values, 1.0).min(axis=0))
    above, below = (np.cumsum(part) for part in _log_wins(x, bets, 0.5))
    out = np.flatnonzero(np.maximum(above, below) >= threshold)
    return ConfidenceSequence(
        mean=float(x.mean()),
        lower=np.maximum.accumulate(lower),
        upper=np.minimum.accumulate(upper),
        decided_at=int(out[0]) + 1 if len(out) else None,
        alpha=alpha,
    )


def votes_needed(
    scores: npt.ArrayLike, *, seed: int, alpha: float = ALPHA, futures: int = FUTURES, horizon: int = HORIZON
) -> VotesNeeded:
    """Return how many votes beyond `scores`, (t,), it takes until `compare` tells the two models apart.

    Every future has rates of wins, ties and losses of its own, drawn from what the votes so far leave possible
    (Dirichlet, half a vote of each kind in advance), so that few votes give wide answers. 0 where it is decided.
    Scores other than 1, 1/2 and 0 count as the nearest of them here.
    """
    x = _checked(scores, alpha)
    now = compare(x, alpha=alpha)
    if now.decided_at is not None:
        return VotesNeeded(0, 0, 1.0, horizon)
    rng = np.random.default_rng(seed)
    kinds = np.bincount(np.rint(2 * x).astype(np.int64), minlength=3)
    rates = np.cumsum(rng.dirichlet(kinds + 0.5, size=futures), axis=1)
    past = _Past.none(futures)
    if len(x):
        past = past.after(np.tile(x, (futures, 1)), alpha)
    needed = np.full(futures, horizon + 1)
    open_ = np.arange(futures)
    threshold = np.log(2 / alpha)
    for start in range(0, horizon, STRIDE):
        size = min(STRIDE, horizon - start)
        drawn = rng.random((len(open_), size))
        votes = ((drawn > rates[open_, :1]).astype(np.float64) + (drawn > rates[open_, 1:2])) / 2
        above, below = past.wealth(votes, alpha)
        out = np.maximum(above, below) >= threshold
        done = out.any(axis=1)
        needed[open_[done]] = start + 1 + out[done].argmax(axis=1)
        past = past.after(votes, alpha).of(~done)
        open_ = open_[~done]
        if not len(open_):
            break
    median, most = (int(np.quantile(needed, share, method="higher")) for share in (0.5, 0.9))
    return VotesNeeded(
        median=median if median <= horizon else None,
        most=most if most <= horizon else None,
        decided=float((needed <= horizon).mean()),
        horizon=horizon,
    )


def _checked(scores: npt.ArrayLike, alpha: float) -> Floats:
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 1 or not np.all((x >= 0) & (x <= 1)):
        raise ValueError("a score is not within 0 to 1")
    if not 0 < alpha < 1:
        raise ValueError("alpha is not between 0 and 1")
    return x


@dataclass(frozen=True, slots=True)
class _Past:
    """What bets remember of earlier votes, for each of several runs, (r,): sums, and the wealth against one half."""

    votes: int
    total: Floats
    squares: Floats
    above: Floats
    below: Floats

    @classmethod
    def none(cls, runs: int) -> "_Past":
        # Half a vote's score and a quarter of variance in advance, as in the source.
        return cls(0, np.full(runs, 0.5), np.full(runs, 0.25), np.zeros(runs), np.zeros(runs))

    def wealth(self, x: Floats, alpha: float) -> tuple[Floats, Floats]:
        """Logarithms of both bets against one half, (r, t), after each of the votes x, (r, t)."""
        above, below = _log_wins(x, _bets(x, self, alpha), 0.5)
        return self.above[:, None] + np.cumsum(above, axis=1), self.below[:, None] + np.cumsum(below, axis=1)

    def after(self, x: Floats, alpha: float) -> "_Past":
        total, squares = _sums(x, self)
        above, below = self.wealth(x, alpha)
        return _Past(self.votes + x.shape[1], total[:, -1], squares[:, -1], above[:, -1], below[:, -1])

    def of(self, runs: npt.NDArray[np.bool_]) -> "_Past":
        return _Past(self.votes, self.total[runs], self.squares[runs], self.above[runs], self.below[runs])


def _sums(x: Floats, past: _Past) -> tuple[Floats, Floats]:
    """The running sums of scores and of squared distances from the running mean, (r, t), the past included."""
    number = past.votes + 1 + np.arange(1, x.shape[1] + 1)
    total = past.total[:, None] + np.cumsum(x, axis=1)
    squares = past.squares[:, None] + np.cumsum((x - total / number) ** 2, axis=1)
    return total, squares


def _bets(x: Floats, past: _Past, alpha: float) -> Floats:
    """The stake of each vote, (r, t), from the votes before it alone."""
    t = past.votes + np.arange(1, x.shape[1] + 1)
    _, squares = _sums(x, past)
    before = np.concatenate((past.squares[:, None], squares[:, :-1]), axis=1)
    return np.asarray(np.sqrt(2 * np.log(2 / alpha) / (before / t * t * np.log1p(t))))


def _log_wins(x: Floats, bets: Floats, value: Floats | float) -> tuple[Floats, Floats]:
    """By what the bets that the mean lies above, and below, `value` multiply with each vote: logarithms."""
    value = np.asarray(value, dtype=np.float64)
    tiny = np.finfo(np.float64).tiny
    above = np.minimum(bets, MOST_RISKED / np.maximum(value, tiny))
    below = np.minimum(bets, MOST_RISKED / np.maximum(1 - value, tiny))
    return np.log1p(above * (x - value)), np.log1p(-below * (x - value))
