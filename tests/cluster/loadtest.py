"""How much one machine takes: `python -m tests.cluster.loadtest [--people 5,20,50] [--seconds 30]`.

A cluster of its own on loopback (two web processes, two workers, PostgreSQL, Redis, nginx with TLS, a fake upstream),
and so many people who begin battles, watch them, vote and look at pages without a pause. Everything shares the cores
of one machine, those who ask included, so that the figures are a lower bound for a server that has them for itself.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.cluster import Cluster, Missing
from tests.cluster.load import Ledger, visit

MOST_PEOPLE = 200
LONGEST_SECONDS = 300.0
# About 140 and 90 tokens; the second takes five seconds, as a model does that writes 20 tokens a second.
MODELS = ["axolotl-steady", "axolotl-slow-markdown"]
KINDS = ("battle", "first words", "vote", "board", "page")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--people", default="5,20,50", help=f"how many at once, separated by commas; {MOST_PEOPLE} at most"
    )
    parser.add_argument("--seconds", type=float, default=30.0, help=f"for how long each; {LONGEST_SECONDS:g} at most")
    parser.add_argument("--webs", type=int, default=2, help="web processes")
    options = parser.parse_args(arguments)
    sizes = [min(int(size), MOST_PEOPLE) for size in options.people.split(",")]
    seconds = min(options.seconds, LONGEST_SECONDS)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before, {options.webs} web processes")
    with tempfile.TemporaryDirectory(prefix="tourney-load-") as folder:
        try:
            with Cluster(Path(folder), accounts=max(sizes) + 1, webs=options.webs) as cluster:
                troubles = [one(cluster, size, seconds, console) for size in sizes]
        except Missing as missing:
            sys.exit(f"{missing}. On Debian: apt-get install postgresql redis-server nginx-light")
    return int(any(troubles))


def one(cluster: Cluster, people: int, seconds: float, console: Console) -> int:
    """Let so many people in, print what they saw and what it cost; return how many troubles they had."""
    before = {name: part.cpu for name, part in cluster.parts.items()}
    own = sum(os.times()[:2])
    ledger = Ledger()
    asyncio.run(visit(cluster.door, ledger, people=people, seconds=seconds, models=MODELS))
    spent = {name: part.cpu - before[name] for name, part in cluster.parts.items()}
    spent["the people"] = sum(os.times()[:2]) - own
    console.print(table(ledger, people))
    shares = ", ".join(
        f"{name} {100 * cpu / ledger.now:.0f}%" for name, cpu in spent.items() if cpu / ledger.now > 0.005
    )
    console.print(f"Cores: {shares}; {sum(spent.values()) / ledger.now:.2f} of {os.cpu_count()} in all")
    web = sum(cpu for name, cpu in spent.items() if name.startswith("web"))
    console.print(
        f"A battle with its vote and pages: {1000 * web / max(1, len(ledger.battles)):.0f} ms of a web process"
    )
    if ledger.troubles or ledger.gave_up:
        console.print(f"Troubles: {dict(ledger.troubles)}; given up: {len(ledger.gave_up)}", style="red")
    return sum(ledger.troubles.values()) + len(ledger.gave_up)


def table(ledger: Ledger, people: int) -> Table:
    shown = Table(title=f"{people} people for {ledger.now:.0f} s", title_justify="left")
    for heading in ("", "count", "a minute", "p50 ms", "p95 ms", "most ms"):
        shown.add_column(heading, justify="right" if heading else "left")
    for kind in KINDS:
        took = sorted(1000 * seconds for seconds in ledger.took.get(kind, ()))
        if not took:
            continue
        p95 = statistics.quantiles(took, n=20, method="inclusive")[-1] if len(took) > 1 else took[0]
        figures = (statistics.median(took), p95, took[-1])
        shown.add_row(
            kind, str(len(took)), f"{60 * len(took) / ledger.now:,.0f}", *(f"{each:,.0f}" for each in figures)
        )
    return shown


if __name__ == "__main__":
    sys.exit(main())
