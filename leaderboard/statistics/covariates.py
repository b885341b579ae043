"""Bradley-Terry with covariates: what else than the models moves the votes, estimated together with the ratings.

The model: the log-odds of the first are s_i - s_j + x @ b, x being what sets the two sides apart. A tie is half a win.
Sources: Springall (1973), Response surface fitting using a generalization of the Bradley-Terry paired comparison model;
White (1982) for the sandwich.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics import connectivity, newton
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.bradley_terry import DECISIVE_NEEDED, PRIOR_TIES, wider
from leaderboard.statistics.newton import Local
from leaderboard.statistics.pairs import Pairs, logistic
from leaderboard.statistics.types import Z95, Booleans, Fit, Floats, placed, unplaced

# Every coefficient is held by this many imagined comparisons with a covariate of 1 that came out even. They make the
# maximum finite where a covariate happens to foretell every vote, and hardly show after a hundred real ones.
PRIOR_EVEN = 1.0


@dataclass(frozen=True, slots=True)
class WithCovariates(Fit):
    """A fit. Arrays about models have the shape (n,), in points with mean 1000 as in `BradleyTerry`; NaN unrated.

    coefficients, with their 95% intervals: (k,), log-odds for the first side for one unit of its covariate.
    """

    coefficients: Floats
    coefficients_lower: Floats
    coefficients_upper: Floats
    log_likelihood: float
    comparisons: float
    iterations: int
    solver: str = "newton"
    tolerance: float = newton.TOLERANCE


def fit(
    ballots: Ballots, covariates: npt.ArrayLike, *, number: npt.ArrayLike | None = None, both_bad_as_tie: bool = False
) -> WithCovariates:
    """Fit the ratings and k coefficients to comparisons with `covariates` of the shape (m, k), with sandwich intervals.

    `number`, (m,), is how many equal comparisons a row stands for (1); a row's weight is that of one of them. Rows of
    one cluster are one opinion. Who is rated and when a prior is added is as in `bradley_terry.fit`.
    Raises ValueError on covariates and numbers that are not finite, or of another length, and ArithmeticError if
    Newton's method does not converge.
    """
    table = np.asarray(covariates, dtype=np.float64)
    numbers = np.ones(len(ballots.first)) if number is None else np.asarray(number, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(ballots.first) or len(numbers) != len(ballots.first):
        raise ValueError("the columns differ in length")
    if not np.all(np.isfinite(table)):
        raise ValueError("a covariate is not a finite number")
    if not np.all(np.isfinite(numbers) & (numbers > 0)):
        raise ValueError("a number is not a positive number")
    counts = ballots.counts(numbers)
    weight, square, tally = (
        one.as_ties() if both_bad_as_tie else one for one in (counts.weight, counts.square, counts.number)
    )
    everyone = Pairs.of(weight, square)
    group = connectivity.of_pairs(everyone)
    rated = group == connectivity.RATED
    kept = ballots.rating(rated, both_bad_as_tie=both_bad_as_tie)
    prior = 0.0 if connectivity.pairs_determine(everyone.among(rated)) else PRIOR_TIES
    inside = ballots.among(rated, both_bad_as_tie=both_bad_as_tie)
    model = _Model(inside, table[kept], numbers[kept], prior)
    n, size = ballots.n, table.shape[1]
    ratings, lower, upper, covariance = unplaced(n)
    coefficients, below, above = (np.full(size, np.nan) for _ in range(3))
    likelihood, iterations = 0.0, 0
    if rated.any():
        best = newton.maximise(model.local, np.zeros(inside.n + size), free=None if prior else model.free)
        iterations, likelihood = best.iterations, model.log_likelihood(best.at)
        few = (tally.wins + tally.wins.T).sum(axis=1)[rated] < DECISIVE_NEEDED
        of_all = model.covariance(best.at, few)
        ratings, lower, upper, covariance = placed(rated, best.at[: inside.n], of_all[: inside.n, : inside.n])
        coefficients, half = best.at[inside.n :], Z95 * np.sqrt(np.diag(of_all)[inside.n :])
        below, above = coefficients - half, coefficients + half
    return WithCovariates(
        ratings=ratings,
        lower=lower,
        upper=upper,
        covariance=covariance,
        rated=rated,
        group=group,
        one_sided=connectivity.one_sided(everyone),
        is_regularised=prior > 0,
        coefficients=coefficients,
        coefficients_lower=below,
        coefficients_upper=above,
        log_likelihood=likelihood,
        comparisons=float(numbers[kept] @ inside.weight),
        iterations=iterations,
    )


@dataclass(frozen=True, slots=True)
class _Model:
    """The likelihood over the parameters: strengths (n,), then coefficients (k,)."""

    rows: Ballots
    covariates: Floats
    number: Floats
    prior: float

    @property
    def free(self) -> Floats:
        """The direction in which nothing changes: all strengths together."""
        return np.append(np.ones(self.rows.n), np.zeros(self.covariates.shape[1]))

    def ahead(self, at: Floats) -> Floats:
        strengths, coefficients = at[: self.rows.n], at[self.rows.n :]
        return np.asarray(strengths[self.rows.first] - strengths[self.rows.second] + self.covariates @ coefficients)

    def log_likelihood(self, at: Floats) -> float:
        """Nats, without the priors."""
        _, won, lost = logistic(self.ahead(at))
        scores = self.rows.scores()
        return float((self.number * self.rows.weight) @ (scores * won + (1 - scores) * lost))

    def by_parameter(self, values: Floats) -> Floats:
        """Sums (n + k,) of values that count for the first, against the second, and by covariate."""
        n = self.rows.n
        plus = np.bincount(self.rows.first, weights=values, minlength=n)
        minus = np.bincount(self.rows.second, weights=values, minlength=n)
        return np.append(plus - minus, values @ self.covariates)

    def outer(self, values: Floats) -> Floats:
        """The matrix (n + k, n + k) sum over rows of value x x', x being the row of the design."""
        n, first, second = self.rows.n, self.rows.first, self.rows.second
        cells = np.bincount(first * n + second, weights=values, minlength=n * n).reshape(n, n)
        cells = cells + cells.T
        matrix = np.zeros((n + self.covariates.shape[1],) * 2)
        matrix[:n, :n] = np.diag(cells.sum(axis=1)) - cells
        for column, covariate in enumerate(self.covariates.T, start=n):
            across = self.by_parameter(values * covariate)
            matrix[column, :] = matrix[:, column] = across
        return matrix

    def local(self, at: Floats) -> Local:
        chance, won, lost = logistic(self.ahead(at))
        scores, weight = self.rows.scores(), self.number * self.rows.weight
        value = float(weight @ (scores * won + (1 - scores) * lost))
        gradient = self.by_parameter(weight * (scores - chance))
        hessian = self.outer(weight * chance * (1 - chance))
        ties = np.append(np.full(self.rows.n, self.prior), np.full(self.covariates.shape[1], PRIOR_EVEN))
        chance, won, lost = logistic(at)
        return Local(
            value + float(ties @ (won + lost)) / 2,
            gradient + ties * (0.5 - chance),
            hessian + np.diag(ties * chance * (1 - chance)),
        )

    def covariance(self, at: Floats, few: Booleans) -> Floats:
        """The covariance of strengths, measured from their mean, and coefficients, in log-odds squared.

        The wider of the sandwich and the posterior where a prior was needed or there is little to see scatter in.
        """
        n, size = self.rows.n, self.covariates.shape[1]
        hessian = self.local(at).hessian
        inverse = np.linalg.inv(hessian) if self.prior else newton.pseudo_inverse(hessian, self.free)
        centring = np.eye(n + size)
        centring[:n, :n] -= 1 / n
        model = np.asarray(centring @ inverse @ centring)
        # The imagined comparisons scatter, too: what only they speak of is not certain.
        chance = logistic(at[n:])[0]
        imagined = np.append(np.zeros(n), PRIOR_EVEN * chance * (1 - chance))
        robust = np.asarray(centring @ inverse @ (self._scatter(at) + np.diag(imagined)) @ inverse @ centring)
        unsure = few | (self.prior > 0)
        # A coefficient is as unsure as the comparisons that it is estimated from are few.
        enough = float(self.number.sum()) >= DECISIVE_NEEDED * (1 + size)
        return wider(robust, model, np.append(unsure, np.full(size, not enough)))

    def _scatter(self, at: Floats) -> Floats:
        """The covariance of the scores; equal comparisons that one row stands for are independent of each other."""
        residual = self.rows.weight * (self.rows.scores() - logistic(self.ahead(at))[0])
        scatter = self.outer(self.number * residual**2)
        sizes = np.bincount(self.rows.cluster, minlength=self.rows.clusters)
        shared = sizes[self.rows.cluster] > 1
        if shared.any():
            rows = np.flatnonzero(shared)
            many = (self.number * residual)[rows]
            k, each = self.covariates.shape[1], np.arange(len(rows))
            values = np.concatenate((many, -many, (many[:, None] * self.covariates[rows]).ravel()))
            columns = (self.rows.first[rows], self.rows.second[rows], self.rows.n + np.tile(np.arange(k), len(rows)))
            places = (np.concatenate((each, each, np.repeat(each, k))), np.concatenate(columns))
            scores = scipy.sparse.csr_array((values, places), shape=(len(rows), self.rows.n + k))
            _, numbers = np.unique(self.rows.cluster[rows], return_inverse=True)
            together = scipy.sparse.csr_array((np.ones(len(rows)), (numbers, each))) @ scores
            scatter += (together.T @ together - scores.T @ scores).toarray()
        return scatter
