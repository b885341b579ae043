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
from django.db.models import Model  # noqa: E402

from battles.exports.export import Export  # noqa: E402
from battles.exports.selection import Selection  # noqa: E402
from battles.models import Battle, Preference, Response, Side, Turn  # noqa: E402
from tests import factories  # noqa: E402

FOLDER = "tourney-exports-"  # of its own, and removed
UUIDS = {"sqlite": "printf('%%032x', {})", "postgresql": "lpad(to_hex({}), 32, '0')::uuid"}
ROWS = 100_000
ANSWER = "An answer of some length, as people read them. " * 8
TARGET = "Target: under 200 MB over the baseline."


def fill(pairs: int) -> None:
    """Judged battles with texts of their own, so that none is a duplicate: one, and copies made by the database."""
    call_command("migrate", verbosity=0)
    battle = factories.battle(prompts=[ANSWER])
    winner = battle.sides.get(label="a")
    Preference.objects.create(battle=battle, voter=battle.owner, choice="winner", winner=winner, turns=1)
    uuid = UUIDS[connection.vendor].format
    battle_id, answer_id = uuid("n"), uuid(f"2 * n + side_id - {winner.pk}")
    text = f"n || ' of ' || side_id || '. {ANSWER}'"
    with transaction.atomic():
        _copy(Battle, pairs, id=battle_id)
        _copy(Turn, pairs, id="id + n", battle_id=battle_id, prompt="'Question ' || n")
        _copy(Side, pairs, id="id + 2 * n", battle_id=battle_id)
        _copy(Response, pairs, id=answer_id, turn_id="turn_id + n", side_id="side_id + 2 * n", text=text)
        _copy(Preference, pairs, id="id + n", battle_id=battle_id, winner_id="winner_id + 2 * n")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def _copy(model: type[Model], copies: int, **expressions: str) -> None:
    """Copies of all rows there are, numbered from 1 by n, with these columns in place of theirs."""
    columns = [str(field.column) for field in model._meta.concrete_fields]
    table, names = model._meta.db_table, ", ".join(columns)
    values = ", ".join(expressions.get(column, column) for column in columns)
    numbers = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %s)"
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({names}) {numbers} SELECT {values} FROM {table}, numbers", [copies - 1])


def megabytes() -> float:
    """The most memory that this process has had. (`getrusage` would count that of the process that started it.)"""
    status = Path("/proc/self/status").read_text()
    return float(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def measure(format: str) -> None:
    baseline = megabytes()
    began, began_cpu = time.perf_counter(), time.process_time()
    export = Export(kind="dpo", format=format, selection=Selection(owner_id=None))
    size = sum(map(len, export.pieces()))
    seconds, busy = time.perf_counter() - began, time.process_time() - began_cpu
    print(
        f"{format:8} {export.rows:>9,} rows  {export.rows / seconds:>8,.0f} rows/s"
        f"  {export.rows / busy:>8,.0f} rows a CPU-second  {size / 1e6:>7,.0f} MB"
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
