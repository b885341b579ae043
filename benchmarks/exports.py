"""How fast pairs leave, and in how much memory: `python -m benchmarks.exports [--rows 500000]`.

A database of its own (SQLite in a temporary folder, or DATABASE_URL, which must be empty), filled with judged battles
of two models; each format is written piece by piece to nowhere, as a client would take it, in a process of its own.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TOURNEY_VAR", tempfile.mkdtemp(prefix="tourney-exports-"))
os.environ.setdefault("DATABASE_URL", f"sqlite:///{os.environ['TOURNEY_VAR']}/exports.sqlite3")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from accounts.models import User  # noqa: E402
from battles.exports.export import Export  # noqa: E402
from battles.exports.selection import Selection  # noqa: E402
from battles.models import Battle, Preference, Response, Side, Turn  # noqa: E402
from providers.models import LanguageModel  # noqa: E402
from tests import factories  # noqa: E402

FOLDER = "tourney-exports-"  # of its own, and removed
BATCH = 5000
ROWS = 50_000
ANSWER = "An answer of some length, as people read them. " * 8
TARGET = "Target: under 200 MB over the baseline."


def fill(pairs: int) -> None:
    """Judged battles with texts of their own, so that none is a duplicate."""
    call_command("migrate", verbosity=0)
    person = User.objects.create(username="benchmark")
    models = [factories.language_model(), factories.language_model()]
    for start in range(0, pairs, BATCH):
        with transaction.atomic():
            _judged(range(start, min(start + BATCH, pairs)), person, models)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _judged(numbers: range, person: User, models: list[LanguageModel]) -> None:
    battles = Battle.objects.bulk_create([Battle(owner=person) for _ in numbers])
    turns = Turn.objects.bulk_create(
        [Turn(battle=b, number=1, prompt=f"Question {n}?") for n, b in zip(numbers, battles, strict=True)]
    )
    sides = Side.objects.bulk_create(
        [Side(battle=b, model=m, label=label) for b in battles for m, label in zip(models, "ab", strict=True)]
    )
    Response.objects.bulk_create(
        Response(turn=turns[i // 2], side=side, model_id=side.model_id, status="finished", text=f"{i} {ANSWER}")
        for i, side in enumerate(sides)
    )
    Preference.objects.bulk_create(
        Preference(battle=b, voter=person, choice="winner", winner=sides[2 * i + i % 2], turns=1)
        for i, b in enumerate(battles)
    )


def megabytes() -> float:
    """The most memory that this process has had. (`getrusage` would count that of the process that started it.)"""
    status = Path("/proc/self/status").read_text()
    return float(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def measure(format: str) -> None:
    baseline = megabytes()
    began = time.perf_counter()
    export = Export(kind="dpo", format=format, selection=Selection(owner_id=None))
    size = sum(map(len, export.pieces()))
    seconds = time.perf_counter() - began
    print(
        f"{format:8} {export.rows:>9,} rows  {export.rows / seconds:>8,.0f} rows/s  {size / 1e6:>7,.0f} MB"
        f"  {megabytes() - baseline:>6.0f} MB over the baseline of {baseline:.0f} MB",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--measure", default="", help=argparse.SUPPRESS)
    asked: Any = parser.parse_args()
    if asked.measure:
        measure(asked.measure)
        return
    began = time.perf_counter()
    fill(asked.rows)
    seconds = time.perf_counter() - began
    print(f"{connection.vendor}: {asked.rows:,} judged battles stored in {seconds:.0f} s", flush=True)
    connection.close()
    for format in ("jsonl", "parquet"):
        subprocess.run([sys.executable, "-m", "benchmarks.exports", "--measure", format], check=True)
    print(TARGET)
    if Path(os.environ["TOURNEY_VAR"]).name.startswith(FOLDER):
        shutil.rmtree(os.environ["TOURNEY_VAR"])


if __name__ == "__main__":
    main()
