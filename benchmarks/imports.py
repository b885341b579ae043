"""How fast votes come in, and in how much memory: `python -m benchmarks.imports [--rows 1000000]`.

A file in Chatbot Arena's shape is written to a temporary folder, checked and stored; then it is imported once more,
which must add nothing. In a database of its own: SQLite in that folder, or DATABASE_URL, which must be empty.
"""

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from pathlib import Path

FOLDER = "tourney-imports-"  # of its own, and removed
os.environ.setdefault("TOURNEY_VAR", tempfile.mkdtemp(prefix=FOLDER))
os.environ.setdefault("DATABASE_URL", f"sqlite:///{os.environ['TOURNEY_VAR']}/imports.sqlite3")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from battles.imports.battles import battles_import  # noqa: E402
from benchmarks.exports import megabytes  # noqa: E402

ROWS = 100_000
MODELS = 100
WINNERS = ["model_a", "model_b", "tie", "tie (bothbad)"]
TARGET = "Target: 1,000,000 rows in under 60 s on PostgreSQL."


def write(path: Path, rows: int) -> None:
    """Random votes, each at a second of its own."""
    random.seed(1)
    names = [f"Model {number:03}" for number in range(MODELS)]
    with path.open("w") as file:
        for number in range(rows):
            a, b = random.sample(names, 2)
            row: dict[str, object] = {
                "model_a": a,
                "model_b": b,
                "winner": random.choice(WINNERS),
                "judge": f"person-{number % 5000}",
            }
            row |= {"language": "English", "anony": True, "turn": 1, "tstamp": 1.7e9 + number}
            file.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    rows: int = parser.parse_args().rows
    path = Path(os.environ["TOURNEY_VAR"]) / "votes.jsonl"
    write(path, rows)
    call_command("migrate", verbosity=0)
    baseline = megabytes()
    for what in ("first", "again"):
        began, began_cpu = time.perf_counter(), time.process_time()
        with path.open("rb") as file:
            done = battles_import(file=file, board="benchmark")
        seconds, busy = time.perf_counter() - began, time.process_time() - began_cpu
        print(
            f"{connection.vendor:10} {what:5} {done.rows:>9,} rows, {done.new:>9,} new  {seconds:>6.1f} s"
            f"  {done.rows / seconds:>8,.0f} rows/s"
            f"  {busy:.0f} s of our CPU  {megabytes() - baseline:>5.0f} MB over the baseline of"
            f" {baseline:.0f} MB",
            flush=True,
        )
    print(TARGET)
    if Path(os.environ["TOURNEY_VAR"]).name.startswith(FOLDER):
        shutil.rmtree(os.environ["TOURNEY_VAR"])


if __name__ == "__main__":
    main()
