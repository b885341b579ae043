"""How many votes active pairing saves: `python -m benchmarks.pairing`.

Simulates arenas whose true strengths are known, once with every pair alike and once with active pairing, and counts the
votes until the ranking is as right as asked. Both see the same models; both are ranked by the same fit. Strengths are
normal with a standard deviation in points; about a fifth of the votes are ties (Davidson's model). The table of scores
is made anew after 1% more votes, and never before 10. Where a curve crosses a level is read from the isotonic fit of
its mean over the arenas, so that one lucky moment does not count.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import leaderboard  # noqa: F401 # before NumPy: it limits the threads, as in the worker

# isort: split
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import isotonic_regression
from scipy.stats import kendalltau, weightedtau

from leaderboard import matchmaking
from leaderboard.statistics.types import POINTS, Floats

# How often a model is drawn while it is new, as in the settings.
BOOST, BOOST_VOTES = 3.0, 50
# Davidson's parameter: of two equal models, 23% of the votes are ties.
TIES = 0.6
REFRESH_SHARE, REFRESH_VOTES = 0.01, 10
# Fewer votes than with every pair alike, asked for.
SAVING = 0.30

# How right a ranking is: a name and the level to reach. The first is the one that the saving is asked of.
MEASURES = (
    ("top-weighted tau", 0.90),
    ("best tenth named", 0.90),
    ("tau", 0.90),
)
# By number of models: how many arenas are simulated, and for how many votes each.
ARENAS = {10: (100, 2_500), 30: (40, 8_000), 100: (12, 24_000)}


@dataclass(frozen=True, slots=True)
class Curve:
    """The mean of each measure, (steps, measures), after so many votes, (steps,)."""

    votes: Floats
    means: Floats

    def reached(self, measure: int, level: float) -> float:
        """Votes until the level is reached; NaN where it is not."""
        rising = isotonic_regression(self.means[:, measure]).x
        if rising[-1] < level:
            return float("nan")
        step = int(np.argmax(rising >= level))
        if step == 0:
            return float(self.votes[0])
        return float(np.interp(level, rising[step - 1 : step + 1], self.votes[step - 1 : step + 1]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pairing", description=__doc__)
    parser.add_argument("--models", type=int, nargs="*", default=sorted(ARENAS), choices=sorted(ARENAS))
    parser.add_argument("--spread", type=float, default=150.0, help="Standard deviation of the strengths, in points.")
    parser.add_argument("--times", type=float, default=1.0, help="How many times as many arenas.")
    options = parser.parse_args()
    console = Console()
    met = True
    for n in options.models:
        met &= compare(console, n, options.spread, options.times)
    console.print("[bold]All targets are met.[/]" if met else "[bold red]Not every target is met.[/]")
    return 0 if met else 1


def compare(console: Console, n: int, spread: float, times: float) -> bool:
    """Print the table of one number of models; whether active pairing saves enough."""
    arenas, most = ARENAS[n]
    seeds = range(max(1, round(arenas * times)))
    started = perf_counter()
    uniform, active = (curve(n, seeds, most, spread, is_active=is_active) for is_active in (False, True))
    title = f"{n} models, {len(seeds)} arenas, {perf_counter() - started:.0f} s: votes until"
    table = Table("", "every pair alike", "active", "saved", "target", title=title, title_justify="left")
    met = True
    for index, (name, level) in enumerate(MEASURES):
        without, with_it = uniform.reached(index, level), active.reached(index, level)
        saved = 1 - with_it / without
        target = ""
        if index == 0:
            met = saved >= SAVING
            target = f"[green]{SAVING:.0%}, met[/]" if met else f"[red]{SAVING:.0%}, missed[/]"
        table.add_row(f"{name} ≥ {level:.2f}", _votes(without, most), _votes(with_it, most), f"{saved:.0%}", target)
    console.print(table)
    return met


def _votes(figure: float, most: int) -> str:
    return f"over {most:,}" if np.isnan(figure) else f"{figure:,.0f}"


def curve(n: int, seeds: Sequence[int], most: int, spread: float, *, is_active: bool) -> Curve:
    runs = [simulate(n, seed, most, spread, is_active=is_active) for seed in seeds]
    return Curve(runs[0][0], np.mean([measured for _, measured in runs], axis=0))


def simulate(n: int, seed: int, most: int, spread: float, *, is_active: bool) -> tuple[Floats, Floats]:
    """One arena: after how many votes it was measured, (steps,), and its measures then, (steps, measures)."""
    truth = np.random.default_rng(seed).normal(0.0, spread / POINTS, n)
    rng = np.random.default_rng([seed, 1])
    first, second = np.triu_indices(n, 1)
    points, strengths = np.zeros((n, n)), np.zeros(n)
    chances = np.full(len(first), 1 / len(first))
    votes: list[int] = []
    measured: list[list[float]] = []
    while not votes or votes[-1] < most:
        done = votes[-1] if votes else 0
        batch = max(REFRESH_VOTES, int(done * REFRESH_SHARE))
        drawn = rng.choice(len(first), batch, p=chances)
        a, b = first[drawn], second[drawn]
        won = judged(truth[a] - truth[b], rng)
        np.add.at(points, (a, b), won)
        np.add.at(points, (b, a), 1 - won)
        strengths, covariance = matchmaking.believe(points, strengths)
        if is_active:
            played = (points + points.T).sum(axis=1)
            boosts = matchmaking.boosts(played, factor=BOOST, below=BOOST_VOTES)
            scores = matchmaking.by_weight(boosts) * matchmaking.usefulness(strengths, covariance)
            chances = matchmaking.pair_chances(scores)[first, second]
            chances /= chances.sum()
        votes.append(done + batch)
        measured.append(measures(truth, strengths))
    return np.array(votes, dtype=np.float64), np.array(measured)


def judged(ahead: Floats, rng: np.random.Generator) -> Floats:
    """What the first of each pair gets, (m,), where it is so many log-odds ahead: 1, 1/2 or 0 (Davidson 1970)."""
    total = np.exp(ahead / 2) + np.exp(-ahead / 2) + TIES
    luck = rng.random(len(ahead)) * total
    return np.where(luck < np.exp(ahead / 2), 1.0, np.where(luck < np.exp(ahead / 2) + TIES, 0.5, 0.0))


def measures(truth: Floats, strengths: Floats) -> list[float]:
    """In the order of MEASURES: Kendall's tau with a weight of 1 / (true rank) for each model of a pair (Vigna 2015);
    which share of the truly best tenth, three at least, is ranked there; Kendall's tau."""
    n, rank = len(truth), np.argsort(np.argsort(-truth))
    best = max(3, n // 10)
    named = np.argsort(-strengths)[:best]
    weighted = weightedtau(truth, strengths, rank=rank).statistic
    return [float(weighted), float(np.mean(rank[named] < best)), float(kendalltau(truth, strengths).statistic)]


if __name__ == "__main__":
    sys.exit(main())
