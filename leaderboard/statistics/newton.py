"""Newton's method for concave log-likelihoods with a few hundred unknowns.

The one maximiser of all fits but Bradley-Terry's own, which works on pairs and is faster.
Source: Nocedal & Wright (2006), Numerical Optimization, ch. 3.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are used: they take a sixth of every start

from leaderboard.statistics.types import Floats

# Log-odds. The steps shrink quadratically, so that what remains after such a one is rounding.
TOLERANCE = 1e-7
MAX_ITERATIONS = 100


@dataclass(frozen=True, slots=True)
class Local:
    """A log-likelihood at a point: value in nats, gradient (p,), and negative Hessian (p, p)."""

    value: float
    gradient: Floats
    hessian: Floats


@dataclass(frozen=True, slots=True)
class Maximum:
    """Where the maximum is, (p,), what the function is there, and how many steps it took."""

    at: Floats
    local: Local
    iterations: int


def maximise(function: Callable[[Floats], Local], start: Floats, *, free: Floats | None = None) -> Maximum:
    """Return the maximum of a concave function by steps that are halved until they rise.

    `free`, (p,), is the direction in which the function does not change (all strengths together), if there is one; no
    step goes there. Raises ArithmeticError where it does not converge, which is where there is no finite maximum.
    """
    point, here = start, function(start)
    for iteration in range(1, MAX_ITERATIONS + 1):
        hessian = here.hessian
        if free is not None:
            hessian = hessian + np.trace(hessian) / len(point) * np.outer(free, free) / float(free @ free)
        try:
            step = scipy.linalg.cho_solve(scipy.linalg.cho_factor(hessian), here.gradient)
        except np.linalg.LinAlgError:
            raise ArithmeticError("the data do not determine every figure") from None
        # Where rounding is all that is left, a step may lower the value by this much.
        noise = 1e-12 * (1 + abs(here.value))
        moved = function(point + step)
        while not moved.value >= here.value - noise:
            step = step / 2
            if not np.abs(step).max() > 0:
                raise ArithmeticError("no step rises")
            moved = function(point + step)
        point, here = point + step, moved
        if not len(step) or np.abs(step).max() < TOLERANCE:
            return Maximum(point, here, iteration)
    raise ArithmeticError(f"Newton's method did not converge in {MAX_ITERATIONS} iterations")


def pseudo_inverse(hessian: Floats, free: Floats) -> Floats:
    """The inverse (p, p) of a Hessian on everything but the direction `free`, in which it is 0."""
    size = np.trace(hessian) / len(hessian)
    outer = np.outer(free, free) / float(free @ free)
    inverse = np.linalg.inv(hessian + size * outer)
    return np.asarray(inverse - outer / size)
