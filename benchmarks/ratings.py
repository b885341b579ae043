"""How fast a leaderboard is made: `python -m benchmarks.ratings`.

Fills databases of its own with synthetic comparisons (a temporary SQLite file, and a temporary PostgreSQL database
where a server answers), makes the leaderboard in each as the worker does, and has evalica fit the same data beside it.
Every database is measured in a process of its own, as the settings read DATABASE_URL once. All are removed afterwards.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import leaderboard  # noqa: F401 # before NumPy: it limits the threads, as in the worker

# isort: split
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.ratings_bootstrap import bootstraps_compare
from leaderboard.statistics import bradley_terry
from leaderboard.statistics.types import POINTS, TIE, A, B, Counts, Floats, Integers

POSTGRESQL_URL = "postgresql://postgres@127.0.0.1:5432/postgres"
SEED = 1
# What a rebuild is asked to reach: a fit this many times faster than evalica's, and seconds for the whole.
FASTER, REBUILD_SECONDS, DIFFERENCE = 50.0, 3.0, 1e-6
REPEATS = 5
NEW_VOTES = 1000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratings", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument(
        "--database-url",
        action="append",
        help="A server to make a temporary database on, besides SQLite; several are possible. "
        f"By default {POSTGRESQL_URL} if it answers.",
    )
    parser.add_argument(
        "--arena-rank", metavar="PYTHON", help="An interpreter that has arena-rank, to measure it, too."
    )
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        from benchmarks.ratings_database import measure

        print(json.dumps(measure(*votes(options.rows, options.models), options.models)))
        return 0
    console = Console()
    console.print(f"{options.rows:,} comparisons of {options.models} models; Python {platform.python_version()}")
    met = fits_compare(console, options.rows, options.models)
    met &= bootstraps_compare(
        console, votes(options.rows, options.models), options.models, arena_rank=options.arena_rank
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tourney-bench-")))
        urls = {"SQLite": f"sqlite:///{folder / 'ratings.sqlite3'}"}
        for server in options.database_url or [POSTGRESQL_URL]:
            try:
                urls[urlsplit(server).hostname or server] = stack.enter_context(database_on(server))
            except OSError as error:
                console.print(f"Left out: {error}")
        for name, url in urls.items():
            console.print(f"Filling {name} ...")
            met &= rebuild_show(console, name, child(url, folder, options))
    console.print("[bold]All targets are met.[/]" if met else "[bold red]Not every target is met.[/]")
    return 0 if met else 1


def votes(rows: int, models: int) -> tuple[Integers, Integers, Integers]:
    """Columns (rows,) of first, second and outcome, drawn from known strengths; a fifth are ties."""
    rng = np.random.default_rng(SEED)
    strengths = rng.normal(0.0, 1.0, models)
    first = rng.integers(0, models, rows)
    second = (first + rng.integers(1, models, rows)) % models
    chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcome = np.where(rng.random(rows) < chance, A, B)
    outcome[rng.random(rows) < 0.2] = TIE
    return first, second, outcome


def fits_compare(console: Console, rows: int, models: int) -> bool:
    """Fit the same votes twice: from counts, as a snapshot does, and by evalica from its list of winners."""
    import evalica

    first, second, outcome = votes(rows, models)
    counts = Counts.of(models, first, second, outcome)
    ours_seconds, ours = best_of(REPEATS, lambda: bradley_terry.fit(counts))
    winners = [{A: evalica.Winner.X, B: evalica.Winner.Y, TIE: evalica.Winner.Draw}[code] for code in outcome.tolist()]
    xs, ys = first.tolist(), second.tolist()
    # evalica's usual tolerance may stop too early to compare ratings with; both figures are shown.
    usual_seconds, _ = best_of(REPEATS, lambda: evalica.bradley_terry(xs, ys, winners))
    exact_seconds, theirs = best_of(
        REPEATS, lambda: evalica.bradley_terry(xs, ys, winners, tolerance=1e-13, limit=10_000)
    )
    # For fairness: the same counts as ours, each kind of outcome of a pair as one row with a weight.
    grouped, numbers = np.unique(np.stack((first, second, outcome)), axis=1, return_counts=True)
    kinds = [{A: evalica.Winner.X, B: evalica.Winner.Y, TIE: evalica.Winner.Draw}[code] for code in grouped[2].tolist()]
    few_xs, few_ys, weights = grouped[0].tolist(), grouped[1].tolist(), numbers.astype(float).tolist()
    grouped_seconds, _ = best_of(REPEATS, lambda: evalica.bradley_terry(few_xs, few_ys, kinds, weights=weights))
    scores = theirs.scores.sort_index().to_numpy()
    difference = float(np.abs(log_odds(ours.ratings) - centred(np.log(scores))).max())
    table = Table("", "seconds", "target", title="The fit", title_justify="left")
    table.add_row("ours, from counts, with intervals", f"{ours_seconds:.4f}", "")
    table.add_row("evalica, its usual tolerance, from single votes", f"{usual_seconds:.4f}", "")
    table.add_row("evalica, to 1e-13, from single votes", f"{exact_seconds:.4f}", "")
    table.add_row("evalica, its usual tolerance, from grouped votes", f"{grouped_seconds:.4f}", "")
    faster = usual_seconds / ours_seconds
    table.add_row(
        "times faster than its usual, from single votes", f"{faster:.0f}", passed(faster >= FASTER, f"{FASTER:.0f}")
    )
    table.add_row("largest difference, log-odds", f"{difference:.1e}", passed(difference <= DIFFERENCE, "1e-6"))
    console.print(table)
    return faster >= FASTER and difference <= DIFFERENCE


def best_of(times: int, run: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of some runs in seconds, and the result: other work on the machine only ever adds."""
    shortest = float("inf")
    result = None
    for _ in range(times):
        started = perf_counter()
        result = run()
        shortest = min(shortest, perf_counter() - started)
    return shortest, result


def centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean())


def log_odds(points: Floats) -> Floats:
    return centred(points / POINTS)


def passed(is_met: bool, target: str) -> str:
    return f"[green]{target}, met[/]" if is_met else f"[red]{target}, missed[/]"


def rebuild_show(console: Console, name: str, seconds: dict[str, float]) -> bool:
    """Print one database's table; whether both rebuilds are fast enough."""
    table = Table("", "seconds", "target", title=f"A snapshot on {name}", title_justify="left")
    targets = {
        "whole rebuild, first one: all Elo games played",
        f"whole rebuild after {NEW_VOTES:,} votes: Elo carried on",
    }
    met = True
    for step, taken in seconds.items():
        is_met = taken < REBUILD_SECONDS
        if step in targets:
            met &= is_met
        table.add_row(step, f"{taken:.3f}", passed(is_met, f"{REBUILD_SECONDS:.0f}") if step in targets else "")
    console.print(table)
    return met


def child(url: str, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Measure in another process that knows only this database."""
    command = [sys.executable, "-m", "benchmarks.ratings", "--inside"]
    command += ["--rows", str(options.rows), "--models", str(options.models)]
    environment = os.environ | {"DATABASE_URL": url, "TOURNEY_VAR": str(folder / "var"), "REDIS_URL": ""}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def database_on(server: str) -> Iterator[str]:
    """The address of a new, empty PostgreSQL database dropped at the end. Raises OSError if none can be made."""
    import psycopg2  # type: ignore[import-untyped] # needed only where there is such a server

    name = f"tourney_bench_{os.getpid()}"
    try:
        connection = psycopg2.connect(server, connect_timeout=3)
    except psycopg2.OperationalError as error:
        raise ConnectionError(f"no PostgreSQL answers at {urlsplit(server).hostname}") from error
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(f'CREATE DATABASE "{name}"')
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}"')
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
