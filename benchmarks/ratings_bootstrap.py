"""The part of the ratings benchmark about intervals: 1,000 bootstraps of a board, beside other libraries'.

The others would take a quarter of an hour, so a few of their resamples are timed and multiplied.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from leaderboard.statistics import bradley_terry
from leaderboard.statistics.bootstrap import bootstrap
from leaderboard.statistics.types import TIE, A, B, Counts, Integers

ROUNDS = 1000
TIMES_FASTER = 20.0
RESAMPLES_TIMED = 5
SCRIPT = Path(__file__).with_name("ratings_arena_rank.py")


def bootstraps_compare(
    console: Console, votes: tuple[Integers, Integers, Integers], models: int, *, arena_rank: str | None
) -> bool:
    """Print the table; whether ours is fast enough. `arena_rank`: a Python that has arena-rank."""
    ours, agreement = snapshot_seconds(votes, models)
    table = Table(
        "", "seconds", "target", title=f"A fit, its sandwich, and {ROUNDS:,} bootstraps", title_justify="left"
    )
    table.add_row("ours, from single votes", f"{ours:.2f}", "")
    others = [evalica_seconds(votes)]
    table.add_row(f"evalica, percentile, from {RESAMPLES_TIMED} resamples", f"{others[0]:.0f}", "")
    if arena_rank:
        others.append(arena_rank_seconds(votes, arena_rank))
        table.add_row("arena-rank on every core, from 6 resamples", f"{others[1]:.0f}", "")
    faster = min(others) / ours
    met = faster >= TIMES_FASTER
    colour, word = ("green", "met") if met else ("red", "missed")
    table.add_row("times faster than the faster one", f"{faster:.0f}", f"[{colour}]{TIMES_FASTER:.0f}, {word}[/]")
    table.add_row("bootstrap's intervals over the sandwich's, mean", f"{agreement:.3f}", "")
    console.print(table)
    if not arena_rank:
        console.print("arena-rank is left out: --arena-rank PYTHON names an interpreter that has it.")
    return met


def snapshot_seconds(votes: tuple[Integers, Integers, Integers], models: int) -> tuple[float, float]:
    """Ours: seconds, and how long the bootstrap's intervals are for one of the sandwich's."""
    started = perf_counter()
    counts = Counts.of(models, *votes)
    fitted = bradley_terry.fit(counts)
    drawn = bootstrap(counts, fitted, seed=1, rounds=ROUNDS)
    seconds = perf_counter() - started
    return seconds, float(np.mean((drawn.upper - drawn.lower) / (fitted.upper - fitted.lower)))


def evalica_seconds(votes: tuple[Integers, Integers, Integers]) -> float:
    """Seconds for all rounds, by a few of them; it also fits the votes themselves once."""
    import evalica

    first, second, outcome = (column.tolist() for column in votes)
    kinds = {A: evalica.Winner.X, B: evalica.Winner.Y, TIE: evalica.Winner.Draw}
    winners = [kinds[code] for code in outcome]
    started = perf_counter()
    evalica.bootstrap(
        evalica.bradley_terry,
        first,
        second,
        winners,
        n_resamples=RESAMPLES_TIMED,
        bootstrap_method="percentile",
        random_state=1,
    )
    return (perf_counter() - started) / (RESAMPLES_TIMED + 1) * (ROUNDS + 1)


def arena_rank_seconds(votes: tuple[Integers, Integers, Integers], python: str) -> float:
    """Seconds for all rounds, by a few of them, in an environment of its own."""
    with tempfile.TemporaryDirectory(prefix="tourney-bench-") as folder:
        file = Path(folder) / "votes.npz"
        np.savez(file, first=votes[0], second=votes[1], outcome=votes[2])
        done = subprocess.run([python, str(SCRIPT), str(file)], check=True, stdout=subprocess.PIPE, text=True)
    seconds = json.loads(done.stdout.splitlines()[-1])
    return float(seconds["start"] + seconds["each"] * ROUNDS)
