"""Plackett-Luce ratings from whole rankings; for rankings of two it is Bradley-Terry.

The model: the best of a set is i with the chance exp(s_i) over the sum of exp(s) in the set; then the best of the rest.
Sources: Luce (1959), Individual Choice Behavior; Plackett (1975), The analysis of permutations; Hunter (2004), MM
algorithms for generalized Bradley-Terry models, section 5, on when finite ratings exist; White (1982) for the sandwich,
of which one ranking is one score, so that its length does not make it count as many votes.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics import connectivity, newton
from leaderboard.statistics.bradley_terry import DECISIVE_NEEDED, PRIOR_TIES, centred, wider
from leaderboard.statistics.newton import Local
from leaderboard.statistics.pairs import logistic
from leaderboard.statistics.rankings import Rankings
from leaderboard.statistics.types import Booleans, Fit, Floats, placed, unplaced


@dataclass(frozen=True, slots=True)
class PlackettLuce(Fit):
    """A fit. Arrays have the shape (n,), in points with the rated models' mean at 1000; NaN without a rating.

    The fields are those of `BradleyTerry`; log_likelihood is over `rankings` rankings, ties as all orders in parts.
    """

    log_likelihood: float
    rankings: int
    iterations: int
    solver: str = "newton"
    tolerance: float = newton.TOLERANCE


def fit(rankings: Rankings) -> PlackettLuce:
    """Fit the ratings of n models in points with 95% intervals, clustered by `rankings.cluster`.

    Who is rated and when a prior is added is as in `bradley_terry.fit`.
    Raises ArithmeticError if Newton's method does not converge.
    """
    n = rankings.n
    beaten = rankings.tally.wins + rankings.tally.ties / 2
    met = beaten + beaten.T
    first, second = np.nonzero(np.triu(met))
    group = connectivity.components(n, first, second, met[first, second])
    rated = group == connectivity.RATED
    wins, losses = beaten.sum(axis=1) > 0, beaten.sum(axis=0) > 0
    ratings, lower, upper, covariance = unplaced(n)
    likelihood, iterations, prior = 0.0, 0, 0.0
    if rated.any():
        inner = beaten[np.ix_(rated, rated)]
        prior = 0.0 if connectivity.is_determined(len(inner), *np.nonzero(inner)) else PRIOR_TIES
        model = _Model.of(rankings.among(rated), prior)
        best = newton.maximise(model.local, np.zeros(len(inner)), free=None if prior else np.ones(len(inner)))
        iterations, likelihood = best.iterations, model.log_likelihood(best.at)
        decided = rankings.tally.wins
        few = (decided + decided.T).sum(axis=1)[rated] < DECISIVE_NEEDED
        of_rated = model.covariance(best.at, few)
        ratings, lower, upper, covariance = placed(rated, best.at, of_rated)
    return PlackettLuce(
        ratings=ratings,
        lower=lower,
        upper=upper,
        covariance=covariance,
        rated=rated,
        group=group,
        one_sided=wins ^ losses,
        is_regularised=prior > 0,
        log_likelihood=likelihood,
        rankings=int(rankings.number.sum()),
        iterations=iterations,
    )


@dataclass(frozen=True, slots=True)
class _Model:
    """The likelihood over strengths (n,), all rankings added up: credit (n,), use (sets,), members (sets, n)."""

    rankings: Rankings
    credit: Floats
    use: Floats
    prior: float

    @classmethod
    def of(cls, rankings: Rankings, prior: float) -> "_Model":
        total = rankings.number * rankings.weight
        return cls(rankings, rankings.credit.T @ total, rankings.use.T @ total, prior)

    def shares(self, at: Floats) -> "tuple[Floats, scipy.sparse.csr_array]":
        """The logarithm of the sum over each set, (sets,), and each member's chance to be chosen, (sets, n)."""
        sets = self.rankings.sets
        highest = float(at.max())
        sums = np.asarray(sets @ np.exp(at - highest))
        chances = scipy.sparse.diags_array(1 / sums) @ sets @ scipy.sparse.diags_array(np.exp(at - highest))
        return np.log(sums) + highest, scipy.sparse.csr_array(chances)

    def log_likelihood(self, at: Floats) -> float:
        """Nats, without the prior."""
        return float(self.credit @ at - self.use @ self.shares(at)[0])

    def local(self, at: Floats) -> Local:
        logs, chances = self.shares(at)
        used = np.asarray(chances.T @ self.use)
        value = float(self.credit @ at - self.use @ logs)
        gradient = self.credit - used
        hessian = np.diag(used) - (chances.T @ scipy.sparse.diags_array(self.use) @ chances).toarray()
        if self.prior:
            chance, above, below = logistic(at)
            value += self.prior / 2 * float((above + below).sum())
            gradient = gradient + self.prior * (0.5 - chance)
            hessian = hessian + np.diag(self.prior * chance * (1 - chance))
        return Local(value, gradient, hessian)

    def covariance(self, at: Floats, few: Booleans) -> Floats:
        """The covariance (n, n) in log-odds squared of strengths measured from their mean."""
        hessian = self.local(at).hessian
        if self.prior:
            return centred(np.linalg.inv(hessian))
        inverse = newton.pseudo_inverse(hessian, np.ones(len(at)))
        return wider(np.asarray(inverse @ self._scatter(at) @ inverse), inverse, few)

    def _scatter(self, at: Floats) -> Floats:
        """The covariance of the scores; equal rankings that one row stands for are independent of each other."""
        rankings = self.rankings
        single = scipy.sparse.csr_array(
            scipy.sparse.diags_array(rankings.weight) @ (rankings.credit - rankings.use @ self.shares(at)[1])
        )
        many = scipy.sparse.csr_array(scipy.sparse.diags_array(rankings.number) @ single)
        rows = np.arange(len(rankings.cluster))
        together = scipy.sparse.csr_array((np.ones(len(rows)), (rankings.cluster, rows))) @ many
        scatter = single.T @ many + together.T @ together - many.T @ many
        return np.asarray(scatter.toarray())
