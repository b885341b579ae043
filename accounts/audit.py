"""The audit log: only ever added to. The database itself refuses to change or delete an entry, whoever asks. The
exceptions: an entry forgets who a person was when their account is deleted, and RETENTION_AUDIT_DAYS ends old ones."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import connections, transaction
from django.db.models import Q

from accounts.models import AuditEntry
from common.audit import Deed

FIXED = ("id", "action", "subject", "detail", "created_at")
REFUSAL = "the audit log is only ever added to"
SUBJECT_MAX_CHARACTERS = 200


def deeds_keep(deeds: list[Deed]) -> None:
    """Store them; called through `common.audit.note`."""
    AuditEntry.objects.bulk_create(
        AuditEntry(
            actor_id=deed.actor_id,
            action=deed.action,
            subject=deed.subject[:SUBJECT_MAX_CHARACTERS],
            detail=deed.detail,
        )
        for deed in deeds
    )


def person_forget(*, person_id: int, name: str) -> int:
    """Write `person 7` where the log names a person who is erased; returns in how many entries. Beside `log_purge` the
    only change of what was written, and whoever calls notes that it was made."""
    instead = f"person {person_id}"
    found = list(AuditEntry.objects.filter(_names(name)).iterator())
    with _unprotected() as table:
        for entry in found:
            entry.subject = instead if entry.subject == name else entry.subject
            entry.detail = {key: instead if value == name else value for key, value in entry.detail.items()}
            with connections["default"].cursor() as cursor:
                cursor.execute(
                    f"UPDATE {table} SET subject = %s, detail = %s WHERE id = %s",
                    [entry.subject, json.dumps(entry.detail), entry.pk],
                )
    return len(found)


def log_purge(*, before: datetime) -> int:
    """Delete what is older; returns how many entries."""
    with _unprotected() as table, connections["default"].cursor() as cursor:
        moment = AuditEntry._meta.get_field("created_at").get_db_prep_value(before, connections["default"])
        cursor.execute(f"DELETE FROM {table} WHERE created_at < %s", [moment])
        return int(cursor.rowcount)


def _names(name: str) -> Q:
    return Q(subject=name) | Q(detail__of=name) | Q(detail__name=name)


@contextmanager
def _unprotected() -> Iterator[str]:
    """The log's table without its triggers, within a transaction: either both come back, or nothing has changed."""
    connection, table = connections["default"], AuditEntry._meta.db_table
    with transaction.atomic():
        with connection.cursor() as cursor:
            for verb in ("delete", "update"):
                on = "" if connection.vendor == "sqlite" else f" ON {table}"
                cursor.execute(f"DROP TRIGGER IF EXISTS {table}_no_{verb}{on}")
        yield table
        log_protect()


def log_protect(*, using: str = "default", **_kwargs: Any) -> None:
    """Have the database refuse changes. Runs after each `migrate`: SQLite drops triggers when it alters a table."""
    connection = connections[using]
    table = AuditEntry._meta.db_table
    if table not in connection.introspection.table_names():
        return
    with connection.cursor() as cursor:
        for statement in (_sqlite if connection.vendor == "sqlite" else _postgresql)(table):
            cursor.execute(statement)


def _same(columns: tuple[str, ...]) -> str:
    return " AND ".join(f"NEW.{column} = OLD.{column}" for column in columns)


def _sqlite(table: str) -> list[str]:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
    return [
        f"CREATE TRIGGER IF NOT EXISTS {table}_no_delete BEFORE DELETE ON {table} {refuse}",
        f"CREATE TRIGGER IF NOT EXISTS {table}_no_update BEFORE UPDATE ON {table} "
        f"WHEN NOT (NEW.actor_id IS NULL AND {_same(FIXED)}) {refuse}",
    ]


def _postgresql(table: str) -> list[str]:
    return [
        f"CREATE OR REPLACE FUNCTION {table}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$",
        f"CREATE OR REPLACE TRIGGER {table}_no_delete BEFORE DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_refuse()",
        f"CREATE OR REPLACE TRIGGER {table}_no_update BEFORE UPDATE ON {table} FOR EACH ROW "
        f"WHEN (NOT (NEW.actor_id IS NULL AND {_same(FIXED)})) EXECUTE FUNCTION {table}_refuse()",
    ]
