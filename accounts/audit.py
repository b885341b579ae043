"""The audit log: only ever added to. The database itself refuses to change or delete an entry, whoever asks; the one
exception is that an entry forgets its actor when that person's account is deleted."""

from typing import Any

from django.db import connections

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
