"""The part of the ratings benchmark that runs inside one database."""

import io
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
django.setup()

from django.core.management import call_command  # noqa: E402 # models need the set-up above
from django.db import connection, transaction  # noqa: E402

from accounts.models import User  # noqa: E402
from benchmarks.ratings import NEW_VOTES  # noqa: E402
from leaderboard import rebuild  # noqa: E402
from leaderboard.boards import WHOLE  # noqa: E402
from leaderboard.evidence import read_circumstances, read_evidence  # noqa: E402
from leaderboard.extras import extras_of  # noqa: E402
from leaderboard.models import MAIN, Board, Comparison, Snapshot  # noqa: E402
from leaderboard.statistics import bradley_terry  # noqa: E402
from leaderboard.statistics.types import Integers  # noqa: E402
from providers.models import Endpoint, LanguageModel  # noqa: E402

PEOPLE = 1000
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = (
    "model_a_id, model_b_id, outcome, source_kind, source_id, voter_id, judge, board, mode, is_blind, category,"
    " language, weight, exclusion, created_at"
)
OUTCOMES = [str(outcome) for outcome in (Comparison.Outcome.A, Comparison.Outcome.B, Comparison.Outcome.TIE)]


def measure(first: Integers, second: Integers, outcome: Integers, models: int) -> dict[str, float]:
    """Seconds by step."""
    call_command("migrate", verbosity=0)
    seconds = {"filling": timed(lambda: fill(first, second, outcome, models))[0]}
    board = Board.objects.get(slug=MAIN)
    seconds["GROUP BY, and reading it"], found = timed(lambda: read_evidence(board))
    evidence = found[WHOLE]
    seconds["fit"], fitted = timed(lambda: bradley_terry.fit(evidence.counts))
    seconds["Elo, all games read and played"], _ = timed(lambda: rebuild.play(board, WHOLE, evidence, None))
    seconds["people and times"], _ = timed(lambda: read_circumstances(board, WHOLE))
    seconds["other methods, history, neighbours"], _ = timed(
        lambda: extras_of(board, WHOLE, evidence, fitted, None, None)
    )
    seconds["whole rebuild, first one: all Elo games played"] = rebuilt()
    votes_add(first[:NEW_VOTES], second[:NEW_VOTES], outcome[:NEW_VOTES], after=len(first))
    seconds[f"whole rebuild after {NEW_VOTES:,} votes: Elo carried on"] = rebuilt()
    connection.close()
    return seconds


def rebuilt() -> float:
    """Seconds of all snapshots of all boards, less what their extras took: those are not made each time."""
    seconds, made = timed(rebuild.boards_rebuild)
    return float(seconds - sum(snapshot.extras["seconds"] for snapshot in made if is_fresh(snapshot)))


def is_fresh(snapshot: Snapshot) -> bool:
    return bool(snapshot.extras["watermark"][0] == snapshot.comparisons)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    started = perf_counter()
    result = run()
    return perf_counter() - started, result


def fill(first: Integers, second: Integers, outcome: Integers, models: int) -> None:
    """Models, people and votes. The indexes are made at the end, which is many times faster."""
    endpoint = Endpoint.objects.create(slug="bench", name="Bench", base_url="http://127.0.0.1:9/v1")
    names = [f"Model {number:03}" for number in range(models)]
    LanguageModel.objects.bulk_create(
        LanguageModel(endpoint=endpoint, slug=name.replace(" ", "-").lower(), name=name, upstream_id=name)
        for name in names
    )
    User.objects.bulk_create(User(username=f"person{number}", password="!") for number in range(PEOPLE))
    with connection.schema_editor() as editor:
        for index in Comparison._meta.indexes:
            editor.remove_index(Comparison, index)
    votes_add(first, second, outcome, after=0)
    with connection.schema_editor() as editor:
        for index in Comparison._meta.indexes:
            editor.add_index(Comparison, index)
    with connection.cursor() as cursor:
        # What autovacuum does on a server in the course of a day; index-only scans need it.
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def votes_add(first: Integers, second: Integers, outcome: Integers, *, after: int) -> None:
    """Insert votes by the fastest way that the database has."""
    people = list(User.objects.order_by("pk").values_list("pk", flat=True))
    ids = list(LanguageModel.objects.order_by("pk").values_list("pk", flat=True))

    def rows() -> Iterator[tuple[Any, ...]]:
        columns = zip(first.tolist(), second.tolist(), outcome.tolist(), strict=True)
        for number, (a, b, kind) in enumerate(columns, start=after):
            at = (BEGINNING + timedelta(seconds=number)).strftime("%Y-%m-%d %H:%M:%S")
            person = people[number % len(people)]
            yield (
                ids[a], ids[b], OUTCOMES[kind], "battle", f"{number:09}", person, "", "", "blind", True, "", "", 1.0,
                "", at,
            )  # fmt: skip

    table = Comparison._meta.db_table
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            text = io.StringIO("".join("\t".join(map(str, row)) + "\n" for row in rows()))
            cursor.copy_expert(f"COPY {table} ({COLUMNS}) FROM STDIN", text)
        else:
            marks = ", ".join(["%s"] * 15)
            cursor.executemany(f"INSERT INTO {table} ({COLUMNS}) VALUES ({marks})", list(rows()))
