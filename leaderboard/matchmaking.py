"""Who meets whom: how useful the next vote on each pair would be, and draws by it. Pure and seeded; knows only numbers.

A draw goes by a table of scores (n, n), symmetric: a pair is drawn in proportion to its score. Uniform and weighted
pairing are tables, too. Why the active one is as it is: docs/decisions/0012-active-pairing.md.

Sources: Chiang et al. (2024), Chatbot Arena, on drawing where the interval shrinks; Mikhailiuk et al. (2021), Active
sampling for pairwise comparisons via approximate message passing and information gain maximization.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random

import numpy as np
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics.types import Floats

# The precision of a normal prior on each strength, 1 / log-odds squared: a standard deviation of some 320 points. It
# places models that met nobody, too, and those that only won.
PRIOR_PRECISION = 0.3
STEPS_MAX = 50
STEP_MAX, TOLERANCE = 1.0, 1e-4

# How much of the drawing stays uniform, whatever is believed: no pair is given up.
UNIFORM_SHARE = 0.1
# How strongly useful pairs go before others. Less than this draws settled pairs too often.
SHARPNESS = 8
# The top, whose order readers look at first: the best tenth, three at least. Below, a model with the expected rank r
# counts top / r.
TOP_SHARE, TOP_LEAST = 0.1, 3

# A line-up of more is drawn just the same, but what its chance was is not added up: 2 to this power sets lead to it.
LINEUP_MAX = 10


@dataclass(frozen=True, slots=True)
class Draw:
    """Indices of the models drawn, in random order, and the chance with which just these were drawn, in any order;
    None where that was not worked out."""

    members: list[int]
    propensity: float | None


def believe(points: Floats, start: Floats | None = None) -> tuple[Floats, Floats]:
    """Return strengths (n,) and their covariance (n, n) in log-odds, under a weak prior.

    `points[i, j]` is what i got against j: a win is 1, a tie 1/2 for each. Unlike ratings, these are defined for models
    that met nobody and between groups that never met: there the prior's variance says that nothing is known.
    `start`, (n,), is a guess to begin from, such as the strengths of some votes ago.
    """
    games = points + points.T
    strengths = np.zeros(len(points)) if start is None else start
    for _ in range(STEPS_MAX):
        chances = _chances(strengths)
        gradient = (points - games * chances).sum(axis=1) - PRIOR_PRECISION * strengths
        step = scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(_precision(games, chances), check_finite=False), gradient, check_finite=False
        )
        size = float(np.abs(step).max(initial=0.0))
        strengths = strengths + step / max(size / STEP_MAX, 1.0)
        if size < TOLERANCE:
            break
    return strengths, np.asarray(np.linalg.inv(_precision(games, _chances(strengths))))


def usefulness(strengths: Floats, covariance: Floats) -> Floats:
    """Return how useful the next vote on each pair is, (n, n), from strengths and their covariance in log-odds.

    A pair is useful where its order is open, and the more the less is known of it: with the difference d and its
    variance v that is √v exp(-d² / 2v), taken to the power SHARPNESS. Pairs at the top count more. The mean over pairs
    is 1, of which UNIFORM_SHARE is the same for all; the diagonal is 0.
    """
    n = len(strengths)
    if n < 2:
        return np.zeros((n, n))
    own = np.diag(covariance)
    variance = np.maximum(own[:, None] + own[None, :] - 2 * covariance, 1e-12)
    ahead = strengths[:, None] - strengths[None, :]
    beaten_by = scipy.special.ndtr(-ahead / np.sqrt(variance))
    expected_rank = 0.5 + beaten_by.sum(axis=1)  # each beats itself half the time
    top = np.minimum(1.0, max(TOP_SHARE * n, TOP_LEAST) / expected_rank)
    # In logarithms, of which the largest becomes 0: powers of small variances would vanish.
    logarithm = SHARPNESS / 2 * (np.log(variance) - ahead**2 / variance) + np.log(top[:, None] * top[None, :])
    np.fill_diagonal(logarithm, -np.inf)
    found = np.exp(logarithm - logarithm.max())
    scores = (1 - UNIFORM_SHARE) * found * (n * (n - 1) / found.sum()) + UNIFORM_SHARE
    np.fill_diagonal(scores, 0.0)
    return np.asarray((scores + scores.T) / 2)


def by_weight(weights: Sequence[float] | Floats) -> Floats:
    """The scores (n, n) by which models meet in proportion to the product of their weights, (n,)."""
    weight = np.asarray(weights, dtype=np.float64)
    scores = np.outer(weight, weight)
    np.fill_diagonal(scores, 0.0)
    return scores


def boosts(votes: Sequence[float] | Floats, *, factor: float, below: float) -> Floats:
    """How many times as often each model, (n,), is drawn while it has fewer than `below` votes: `factor` without any,
    falling in a line to 1."""
    missing = np.clip(1 - np.asarray(votes, dtype=np.float64) / below, 0.0, 1.0) if below > 0 else np.zeros(len(votes))
    return np.asarray(1 + (factor - 1) * missing)


def pair_chances(scores: Floats, *, unlike: Collection[int] = ()) -> Floats:
    """The chance (n, n) of each pair to be drawn, the same on both sides of the diagonal; those above it sum to 1.

    The pair `unlike` (two indices) is left out unless it is the only one. Raises ValueError where no pair can be drawn.
    """
    table = scores
    if len(unlike) == 2:
        first, second = unlike
        rest = scores.copy()
        rest[first, second] = rest[second, first] = 0.0
        table = rest if rest.any() else scores
    total = float(table.sum()) / 2
    if not total > 0:
        raise ValueError("no two contenders can be drawn")
    return table / total


def draw(scores: Floats, k: int, rng: Random, *, unlike: Collection[int] = ()) -> Draw:
    """Draw a pair by its score, or more: each further model in proportion to its scores with those drawn before.

    `unlike` is a pair that is not drawn where there is another; for k = 2 only. Raises ValueError where fewer than `k`
    models can be drawn.
    """
    able = np.flatnonzero(scores.any(axis=1))
    if k < 2 or len(able) < k:
        raise ValueError(f"{k} contenders are needed, and {len(able)} can be drawn")
    chances = pair_chances(scores, unlike=unlike if k == 2 else ())
    first, second = np.triu_indices(len(scores), 1)
    chosen = _pick(chances[first, second], rng)
    members = [int(first[chosen]), int(second[chosen])]
    while len(members) < k:
        members.append(_pick(_joining(scores, members), rng))
    rng.shuffle(members)
    return Draw(members, _set_chance(scores, chances, members))


def join(scores: Floats, members: Sequence[int], rng: Random) -> int | None:
    """Draw one more model beside `members`, in proportion to its scores with them; None where there is none."""
    joining = _joining(scores, members)
    return _pick(joining, rng) if joining.any() else None


def _set_chance(scores: Floats, chances: Floats, members: Sequence[int]) -> float | None:
    """The chance that `draw` ends with this set: over all pairs it may begin with, and all orders it may grow in."""
    if len(members) > LINEUP_MAX:
        return None
    reached = {frozenset(pair): float(chances[pair]) for pair in combinations(members, 2)}
    for _ in range(len(members) - 2):
        larger: dict[frozenset[int], float] = {}
        for inside, chance in reached.items():
            joining = _joining(scores, sorted(inside))
            total = float(joining.sum())
            for model in set(members) - inside:
                grown = inside | {model}
                larger[grown] = larger.get(grown, 0.0) + chance * float(joining[model]) / total
        reached = larger
    return reached[frozenset(members)]


def _joining(scores: Floats, members: Sequence[int]) -> Floats:
    joining = scores[list(members)].sum(axis=0)
    joining[list(members)] = 0.0
    return np.asarray(joining)


def _pick(weights: Floats, rng: Random) -> int:
    """An index in proportion to its weight; never one of weight 0, whatever rounding does."""
    able = np.flatnonzero(weights)
    steps = np.cumsum(weights[able])
    return int(able[min(np.searchsorted(steps, rng.random() * steps[-1], side="right"), len(able) - 1)])


def _chances(strengths: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(strengths[None, :] - strengths[:, None])))


def _precision(games: Floats, chances: Floats) -> Floats:
    """The negative Hessian (n, n) of the log-posterior."""
    weight = games * chances * (1 - chances)
    precision = -weight
    precision[np.diag_indices_from(precision)] = weight.sum(axis=1) + PRIOR_PRECISION
    return np.asarray(precision)
