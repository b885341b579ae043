"""Bootstrap of Bradley-Terry ratings: whole ballots are drawn again, and every resample is fitted.

The resamples lie close to the data, so they share the Cholesky factor of the data's Hessian: from the data's fit, each
chord step gains one or two digits for many resamples at once. What does not settle that way is fitted by Newton's
method alone.
Sources: Efron & Tibshirani (1993), An Introduction to the ch. 13 (percentiles); Kelley (1995), Iterative
Methods for Linear and Nonlinear Equations, section 5.4 (chord method).
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics import bradley_terry, connectivity
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.bradley_terry import DECISIVE_NEEDED, PRIOR_TIES
from leaderboard.statistics.pairs import Pairs
from leaderboard.statistics.resampling import kinds_of
from leaderboard.statistics.types import MEAN, POINTS, Booleans, BradleyTerry, Counts, Floats, Integers

ROUNDS = 1000
PERCENTILES = (2.5, 97.5)

# Log-odds; 0.0002 points. Near the data's fit a chord step divides the error by more than two, so that what remains is
# no larger than the last step.
TOLERANCE = 1e-6
CHORD_STEPS = 12

# So many resamples at once that an array of a chunk stays within some 10 MB.
CHUNK_CELLS = 1_250_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A bootstrap of ratings. Arrays have the shape (n,) and are NaN, or rank 0, for models without a rating.

    lower, upper: points, percentiles of 95%. error: points, standard deviation over the rounds. rank_lower, rank_upper:
    best and worst rank, percentiles of 95%. rank_shares: (n, n), in what share of the rounds a model had the rank
    column + 1. samples: (rounds, n), points. `regularised`: rounds in which the resample alone did not determine finite
    ratings, so that a weak prior was added.
    """

    lower: Floats
    upper: Floats
    error: Floats
    rank_lower: Integers
    rank_upper: Integers
    rank_shares: Floats
    samples: Floats
    rounds: int
    seed: int
    regularised: int
    tolerance: float


def bootstrap(
    counts: Counts,
    fitted: BradleyTerry,
    *,
    seed: int,
    rounds: int = ROUNDS,
    both_bad_as_tie: bool = False,
    ballots: Ballots | None = None,
) -> Bootstrap:
    """Return percentile intervals of ratings and ranks from `rounds` resamples.

    `fitted` is the fit of the same `counts` with the same `both_bad_as_tie`. `ballots` names the comparisons that are
    not independent: they are drawn as whole ballots. The same seed gives the same result.
    A resample that lost what its ratings hang on (a model won all that was drawn) gets the prior of a fit.
    One vote drawn again is the same vote, so a model with few wins and losses keeps the fit's interval where
    that is wider.
    """
    rated = fitted.rated
    samples = np.full((rounds, counts.n), np.nan)
    regularised = 0
    if rated.any():
        weight, square, number = (
            tally.as_ties() if both_bad_as_tie else tally for tally in (counts.weight, counts.square, counts.number)
        )
        pairs = Pairs.of(weight, square).among(rated)
        together = ballots.among(rated, both_bad_as_tie=both_bad_as_tie) if ballots is not None else None
        kinds = kinds_of(pairs, number.among(rated), weight.among(rated), together)
        base = _Base.at((fitted.ratings[rated] - MEAN) / POINTS, pairs, PRIOR_TIES if fitted.is_regularised else 0.0)
        chunk = max(1, min(rounds, CHUNK_CELLS // max(len(kinds.number), 1)))
        rng = np.random.default_rng(seed)
        for start in range(0, rounds, chunk):
            won, lost = kinds.draw(min(chunk, rounds - start), rng)
            prior = base.priors(won, lost)
            strengths = base.fit(won, lost, prior)
            regularised += int((prior > 0).sum())
            samples[start : start + chunk, rated] = MEAN + POINTS * (strengths - strengths.mean(axis=0)).T
    tally = counts.number
    few = (tally.wins + tally.wins.T).sum(axis=1) < DECISIVE_NEEDED
    return _summarised(samples, fitted, few, seed, regularised)


@dataclass(frozen=True, slots=True)
class _Base:
    """What all resamples share: the pairs, the data's strengths, and the factor of the data's Hessian."""

    pairs: Pairs
    incidence: "scipy.sparse.csr_array"
    strengths: Floats
    prior: float
    factor: tuple[Floats, bool]

    @classmethod
    def at(cls, strengths: Floats, pairs: Pairs, prior: float) -> "_Base":
        m = len(pairs.first)
        ends = (np.concatenate((pairs.first, pairs.second)), np.tile(np.arange(m), 2))
        incidence = scipy.sparse.csr_array((np.repeat([1.0, -1.0], m), ends), shape=(pairs.n, m))
        chances = _chance(strengths[pairs.first] - strengths[pairs.second])
        hessian = pairs.laplacian((pairs.won + pairs.lost) * chances * (1 - chances))
        if prior:
            alone = _chance(strengths)
            hessian += np.diag(prior * alone * (1 - alone))
        else:
            hessian += np.trace(hessian) / pairs.n**2
        return cls(pairs, incidence, strengths, prior, scipy.linalg.cho_factor(hessian, check_finite=False))

    def priors(self, won: Floats, lost: Floats) -> Floats:
        """The prior that each resample needs, (rounds,), in ties."""
        rounds = won.shape[1]
        above, below = won > 0, lost > 0
        if self.prior or connectivity.pairs_determine(
            self.pairs, np.asarray(above.all(axis=1)), np.asarray(below.all(axis=1))
        ):
            return np.full(rounds, self.prior)
        return np.array(
            [
                0.0 if connectivity.pairs_determine(self.pairs, above[:, b], below[:, b]) else PRIOR_TIES
                for b in range(rounds)
            ]
        )

    def fit(self, won: Floats, lost: Floats, prior: Floats) -> Floats:
        """The strengths of each resample, (n, rounds)."""
        played = won + lost
        strengths = np.repeat(self.strengths[:, None], won.shape[1], axis=1)
        last = np.full(won.shape[1], np.inf)
        slow = np.zeros(won.shape[1], dtype=np.bool_)
        going = np.flatnonzero(~slow)
        for _ in range(CHORD_STEPS):
            now = strengths[:, going]
            ahead = now[self.pairs.first] - now[self.pairs.second]
            gradient = np.asarray(self.incidence @ (won[:, going] - played[:, going] * _chance(ahead)))
            if prior[going].any():
                gradient += prior[going] * (0.5 - _chance(now))
            step = scipy.linalg.cho_solve(self.factor, gradient, check_finite=False)
            strengths[:, going] = now + step
            size = np.abs(step).max(axis=0)
            slow[going] = size > last[going] / 2
            last[going] = size
            going = going[(size >= TOLERANCE) & ~slow[going]]
            if not len(going):
                break
        for b in np.flatnonzero(~(last < TOLERANCE) | slow):
            resample = replace(self.pairs, won=won[:, b], lost=lost[:, b])
            strengths[:, b] = bradley_terry.maximise(resample, float(prior[b]))[0].strengths
        return strengths


def _chance(ahead: Floats) -> Floats:
    """The logistic function; beyond 700 log-odds the exponential is cut off before it overflows."""
    return np.asarray(1 / (1 + np.exp(-np.maximum(ahead, -700.0))))


def _summarised(samples: Floats, fitted: BradleyTerry, few: Booleans, seed: int, regularised: int) -> Bootstrap:
    rounds, n = samples.shape
    rated = fitted.rated
    lower, upper, error = (np.full(n, np.nan) for _ in range(3))
    rank_lower, rank_upper = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    shares = np.zeros((n, n))
    if rated.any():
        inside = samples[:, rated]
        lower[rated], upper[rated] = np.percentile(inside, PERCENTILES, axis=0)
        few = few & rated
        lower[few], upper[few] = np.fmin(lower, fitted.lower)[few], np.fmax(upper, fitted.upper)[few]
        error[rated] = inside.std(axis=0, ddof=1) if rounds > 1 else np.nan
        places = _places(inside)
        rank_lower[rated] = np.percentile(places, PERCENTILES[0], axis=0, method="lower")
        rank_upper[rated] = np.percentile(places, PERCENTILES[1], axis=0, method="higher")
        size = inside.shape[1]
        cells = np.bincount((places - 1 + np.arange(size) * n).ravel(), minlength=size * n)
        shares[rated] = cells.reshape(size, n) / rounds
    return Bootstrap(
        lower=lower,
        upper=upper,
        error=error,
        rank_lower=rank_lower,
        rank_upper=rank_upper,
        rank_shares=shares,
        samples=samples,
        rounds=rounds,
        seed=seed,
        regularised=regularised,
        tolerance=TOLERANCE,
    )


def _places(samples: Floats) -> Integers:
    """The rank, 1 the best, of every model in every round; both of the shape (rounds, n)."""
    order = np.argsort(-samples, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(1, samples.shape[1] + 1)[None, :], axis=1)
    return np.asarray(places, dtype=np.int64)
