"""Bradley-Terry with ties as an outcome of their own, by Davidson's tie parameter.

The model: win, loss and tie of i against j are as probable as sqrt(p_i / p_j), sqrt(p_j / p_i) and v, where p = exp(s)
and v says how often equals tie: v / (2 + v) of the time. Where every pair ties about as often as its strengths make
likely, this describes ties better than half wins do; ratings are further apart, for a tie says *close* and not *half*.

Sources: Davidson (1970), On extending the Bradley-Terry model to accommodate ties in paired comparison experiments;
Newman (2023), Efficient computation of rankings from pairwise comparisons, whose parameter is v / 2.
"""

from dataclasses import dataclass

import numpy as np

from leaderboard.statistics import connectivity, newton
from leaderboard.statistics.bradley_terry import DECISIVE_NEEDED, PRIOR_TIES, wider
from leaderboard.statistics.newton import Local
from leaderboard.statistics.pairs import Pairs, logistic
from leaderboard.statistics.types import Z95, Booleans, Counts, Fit, Floats, placed, unplaced


@dataclass(frozen=True, slots=True)
class Davidson(Fit):
    """A fit. Arrays have the shape (n,), in points with the rated models' mean at 1000; NaN without a rating.

    tie: Davidson's v, with its 95% interval (NaN where there was no tie at all; v is 0 then).
    tie_rate: how often equals tie, v / (2 + v). The other fields are those of `BradleyTerry`.
    """

    tie: float
    tie_lower: float
    tie_upper: float
    log_likelihood: float
    comparisons: float
    iterations: int
    solver: str = "newton"
    tolerance: float = newton.TOLERANCE

    @property
    def tie_rate(self) -> float:
        """How often two equal models tie."""
        return self.tie / (2 + self.tie)


def fit(counts: Counts, *, both_bad_as_tie: bool = False) -> Davidson:
    """Fit ratings and the tie parameter, with sandwich intervals (White 1982).

    Who is rated and when a prior is added is as in `bradley_terry.fit`; here a prior is also needed where there are
    ties and nobody beat anybody in a circle, since v can then grow with the distances.
    Raises ArithmeticError if Newton's method does not converge.
    """
    weight, square, number = (
        tally.as_ties() if both_bad_as_tie else tally for tally in (counts.weight, counts.square, counts.number)
    )
    everyone = Pairs.of(weight, square)
    group = connectivity.of_pairs(everyone)
    rated = group == connectivity.RATED
    pairs = everyone if rated.all() else everyone.among(rated)
    tied = weight.among(rated).ties[pairs.first, pairs.second]
    prior = 0.0 if _is_determined(pairs, tied) else PRIOR_TIES
    model = _Model(pairs, tied, prior, has_ties=float(tied.sum()) > 0)
    ratings, lower, upper, covariance = unplaced(counts.n)
    tie = tie_lower = tie_upper = np.nan
    likelihood, iterations = 0.0, 0
    if rated.any():
        best = newton.maximise(model.local, np.zeros(pairs.n + model.has_ties), free=None if prior else model.free)
        iterations, likelihood = best.iterations, model.log_likelihood(best.at)
        decisive = (number.wins + number.wins.T).sum(axis=1)[rated]
        of_all = model.covariance(best.at, decisive < DECISIVE_NEEDED)
        ratings, lower, upper, covariance = placed(rated, best.at[: pairs.n], of_all[: pairs.n, : pairs.n])
        tie = 0.0
        if model.has_ties:
            width = Z95 * float(np.sqrt(of_all[-1, -1]))
            tie, tie_lower, tie_upper = (float(np.exp(best.at[-1] + add)) for add in (0.0, -width, width))
    return Davidson(
        ratings=ratings,
        lower=lower,
        upper=upper,
        covariance=covariance,
        rated=rated,
        group=group,
        one_sided=connectivity.one_sided(everyone),
        is_regularised=prior > 0,
        tie=tie,
        tie_lower=tie_lower,
        tie_upper=tie_upper,
        log_likelihood=likelihood,
        comparisons=float(pairs.won.sum() + pairs.lost.sum()),
        iterations=iterations,
    )


def _is_determined(pairs: Pairs, tied: Floats) -> bool:
    """Whether the maximum is finite; a few cases where it is count as if it were not.

    The likelihood rises for ever in a direction (d, t) of strengths and log v if no observed outcome ever gets less
    likely: d_ij >= 0 and d_ij >= 2 t for wins of i over j, and |d_ij| <= 2 t for ties. A circle of wins and a tie leave
    only t = 0, and then Ford's condition decides. Without a tie there is no v.
    """
    if not connectivity.pairs_determine(pairs):
        return False
    if not tied.any():
        return True
    above, below = pairs.won - tied / 2 > 0, pairs.lost - tied / 2 > 0
    winners = np.concatenate((pairs.first[above], pairs.second[below]))
    losers = np.concatenate((pairs.second[above], pairs.first[below]))
    return connectivity.has_circle(pairs.n, winners, losers)


@dataclass(frozen=True, slots=True)
class _Model:
    """The likelihood over the parameters: strengths (n,), and log v at the end where there are ties."""

    pairs: Pairs
    tied: Floats
    prior: float
    has_ties: bool

    @property
    def free(self) -> Floats:
        """The direction in which nothing changes: all strengths together."""
        return np.append(np.ones(self.pairs.n), np.zeros(int(self.has_ties)))

    def chances(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Logarithms of the chances of a win of the first, of the second, and of a tie, (m,) each."""
        ahead = at[self.pairs.first] - at[self.pairs.second]
        log_tie = np.full(len(ahead), at[-1] if self.has_ties else -np.inf)
        total = np.logaddexp(np.logaddexp(ahead / 2, -ahead / 2), log_tie)
        return ahead / 2 - total, -ahead / 2 - total, log_tie - total

    def log_likelihood(self, at: Floats) -> float:
        """Nats, without the prior."""
        won, lost, tie = self.chances(at)
        value = (self.pairs.won - self.tied / 2) @ won + (self.pairs.lost - self.tied / 2) @ lost
        return float(value + (self.tied @ tie if self.has_ties else 0.0))

    def local(self, at: Floats) -> Local:
        pairs, n = self.pairs, self.pairs.n
        won, lost, tie = (np.exp(log) for log in self.chances(at))
        played = pairs.won + pairs.lost
        value = self.log_likelihood(at)
        gradient = np.zeros(len(at))
        gradient[:n] = pairs.by_model((pairs.won - pairs.lost - played * (won - lost)) / 2)
        hessian = np.zeros((len(at), len(at)))
        hessian[:n, :n] = pairs.laplacian(played * (won + lost - (won - lost) ** 2) / 4)
        if self.has_ties:
            gradient[n] = float(self.tied.sum() - played @ tie)
            hessian[:n, n] = hessian[n, :n] = pairs.by_model(-played * (won - lost) * tie / 2)
            hessian[n, n] = float(played @ (tie * (1 - tie)))
        if self.prior:
            extra = self._prior(at)
            value += extra.value
            gradient += extra.gradient
            hessian += extra.hessian
        return Local(value, gradient, hessian)

    def _prior(self, at: Floats) -> Local:
        """Half a win and half a loss against an average contender for every model, half a tie between equals."""
        chance, above, below = logistic(at[: self.pairs.n])
        value = self.prior / 2 * float((above + below).sum())
        gradient, curve = self.prior * (0.5 - chance), self.prior * chance * (1 - chance)
        if self.has_ties:
            # At equal strengths a tie has the odds v to 2.
            rate, tie, decided = logistic(at[-1:] - np.log(2))
            value += self.prior / 2 * float((tie + decided)[0])
            gradient = np.append(gradient, self.prior * (0.5 - rate))
            curve = np.append(curve, self.prior * rate * (1 - rate))
        return Local(value, gradient, np.diag(curve))

    def covariance(self, at: Floats, few: Booleans) -> Floats:
        """The covariance of strengths, measured from their mean, and log v; the posterior's where there is a prior."""
        n, hessian = self.pairs.n, self.local(at).hessian
        centring = np.eye(len(at))
        centring[:n, :n] -= 1 / n
        if self.prior:
            return np.asarray(centring @ np.linalg.inv(hessian) @ centring)
        inverse = newton.pseudo_inverse(hessian, self.free)
        robust = np.asarray(inverse @ self._scatter(at) @ inverse)
        return wider(robust, inverse, np.append(few, np.zeros(int(self.has_ties), dtype=np.bool_)))

    def _scatter(self, at: Floats) -> Floats:
        """The covariance of the scores: each outcome's gradient with itself, times its squared weights."""
        pairs, n = self.pairs, self.pairs.n
        won, lost, tie = (np.exp(log) for log in self.chances(at))
        middle = (won - lost) / 2
        ahead = (0.5 - middle, -0.5 - middle, -middle)
        ties = (-tie, -tie, 1 - tie)
        scatter = np.zeros((len(at), len(at)))
        for squares, by_ahead, by_tie in zip(pairs.scatter, ahead, ties, strict=True):
            scatter[:n, :n] += pairs.laplacian(squares * by_ahead**2)
            if self.has_ties:
                across = pairs.by_model(squares * by_ahead * by_tie)
                scatter[:n, n] += across
                scatter[n, :n] += across
                scatter[n, n] += float(squares @ by_tie**2)
        return scatter
