"""Stores comparisons by the million, by the fastest way that the database has."""

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from math import isfinite
from typing import Any

from django.db import connection, transaction

from leaderboard.errors import ComparisonInvalid
from leaderboard.models import Comparison
from leaderboard.services import NewComparison, snapshots_request

BATCH = 10_000
OUTCOMES = frozenset(Comparison.Outcome.values)
COLUMNS = (
    "model_a_id", "model_b_id", "outcome", "source_kind", "source_id", "voter_id", "judge", "board", "mode",
    "is_blind", "category", "language", "weight", "style_length", "style_headers", "style_bold", "style_lists",
    "exclusion", "created_at",
)  # fmt: skip
TEXTS = "judge, board, mode, category, language, exclusion"


@transaction.atomic
def comparisons_load(*, comparisons: Iterable[NewComparison]) -> int:
    """Like `services.comparisons_record` for many, in constant memory; returns how many were new.

    Raises ComparisonInvalid; then, as after any other error of `comparisons`, none is stored.
    """
    rows = map(_values, comparisons)
    new = _copied(rows) if connection.vendor == "postgresql" else _inserted(rows)
    if new:
        transaction.on_commit(snapshots_request)
    return new


def _values(one: NewComparison) -> tuple[Any, ...]:
    """In the order of COLUMNS."""
    if one.model_a_id == one.model_b_id or one.outcome not in OUTCOMES or not (isfinite(one.weight) and one.weight > 0):
        raise ComparisonInvalid()
    style = one.style
    shape = (None,) * 4 if style is None else (style.length, style.headers, style.bold, style.lists)
    return (
        one.model_a_id, one.model_b_id, one.outcome, one.source_kind, one.source_id, one.voter_id, one.judge,
        one.board, one.mode, one.is_blind, one.category, one.language, one.weight, *shape, one.exclusion,
        one.created_at,
    )  # fmt: skip


def _inserted(rows: Iterator[tuple[Any, ...]]) -> int:
    table, marks = Comparison._meta.db_table, ", ".join(["%s"] * len(COLUMNS))
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(COLUMNS)}) VALUES ({marks})"
    moment = connection.ops.adapt_datetimefield_value
    new = 0
    with connection.cursor() as cursor:
        while batch := [(*row[:-1], moment(row[-1])) for row in islice(rows, BATCH)]:
            cursor.executemany(insert, batch)
            new += cursor.rowcount
    return new


def _copied(rows: Iterator[tuple[Any, ...]]) -> int:
    """COPY knows no ON CONFLICT, so it fills a table of this transaction first."""
    table, columns = Comparison._meta.db_table, ", ".join(COLUMNS)
    copy = f"COPY incoming ({columns}) FROM STDIN WITH (FORMAT csv, FORCE_NOT_NULL ({TEXTS}))"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE incoming (LIKE {table}) ON COMMIT DROP")
        cursor.execute("ALTER TABLE incoming DROP COLUMN id")
        while batch := list(islice(rows, BATCH)):
            text = io.StringIO()
            csv.writer(text).writerows(batch)
            text.seek(0)
            cursor.copy_expert(copy, text)
        cursor.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM incoming ON CONFLICT DO NOTHING")
        new: int = cursor.rowcount
        cursor.execute("DROP TABLE incoming")
    return new
