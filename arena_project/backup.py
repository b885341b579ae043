"""A copy of everything that cannot be made anew: the database, consistent while people go on, and the stored files.

A backup is a folder with `database.sqlite3` or `database.dump` (PostgreSQL's own format), `media.tar` and
`manifest.json`, which holds digests and counts that a restore is held to. The secrets of the installation are left out
unless they are asked for: who has both them and the database can read the endpoints' keys.
"""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

MANIFEST = "manifest.json"
MEDIA = "media.tar"
SECRETS = ("secret_key", "key_encryption_secret")
START = "tourney-"
PIECE_BYTES = 1024 * 1024


class BackupProblem(Exception):
    """No backup was made, or nothing was restored; the message says why."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds. `files` maps names to SHA-256, `rows` tables to how many there are, `migrations` apps to
    their last one."""

    made_at: str
    version: str
    vendor: str
    files: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    migrations: dict[str, str] = field(default_factory=dict)


def backup_make(*, folder: Path, with_secrets: bool = False) -> Path:
    """Write a backup beside others in `folder` and return where. It has its final name only when it is whole.

    Raises BackupProblem.
    """
    now = datetime.now(UTC)
    whole = folder / f"{START}{now:%Y%m%dT%H%M%SZ}"
    part = folder / f".{whole.name}.part"
    if whole.exists():
        raise BackupProblem(f"{whole} is there already.")
    try:
        part.mkdir(parents=True, mode=0o700)
        # The database first: a file that comes later is one too many, one that the database names is not missing.
        rows = (_dump_sqlite if connection.vendor == "sqlite" else _dump_postgresql)(part)
        _pack_media(part / MEDIA)
        if with_secrets:
            _copy_secrets(part)
        manifest = Manifest(
            made_at=now.isoformat(timespec="seconds"),
            version=settings.VERSION,
            vendor=connection.vendor,
            files={file.name: digest_of(file) for file in sorted(part.iterdir())},
            rows=rows,
            migrations=_migrations(),
        )
        (part / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1))
        part.rename(whole)
    except (OSError, sqlite3.Error, tarfile.TarError) as error:
        raise BackupProblem(f"The backup could not be written: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return whole


def backups_prune(*, folder: Path, keep: int) -> list[Path]:
    """Delete all but the newest `keep` whole backups; returns those that went."""
    old = sorted(path for path in folder.glob(f"{START}*") if (path / MANIFEST).is_file())[:-keep]
    for path in old:
        shutil.rmtree(path)
    return old


def backup_check(folder: Path) -> Manifest:
    """Read a backup and compare every file with its digest. Raises BackupProblem."""
    try:
        manifest = Manifest(**json.loads((folder / MANIFEST).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise BackupProblem(f"{folder} is no whole backup: {MANIFEST} cannot be read ({error}).") from error
    for name, digest in manifest.files.items():
        file = folder / name
        if not file.is_file() or digest_of(file) != digest:
            raise BackupProblem(f"{file} is missing or has changed since the backup was made.")
    return manifest


def backup_restore(*, folder: Path, replace: bool = False) -> Manifest:
    """Put database and files back as they were, and count them. Nothing may run on this installation meanwhile.

    Raises BackupProblem for a backup that is damaged or of another kind of database, and for a database that holds
    people already, unless it is to be replaced.
    """
    manifest = backup_check(folder)
    if manifest.vendor != connection.vendor:
        raise BackupProblem(f"The backup is of {manifest.vendor}, and this installation is on {connection.vendor}.")
    if not replace and _is_used():
        raise BackupProblem("This database holds people already. With --replace it is overwritten.")
    connection.close()
    (_load_sqlite if manifest.vendor == "sqlite" else _load_postgresql)(folder)
    _unpack_media(folder / MEDIA)
    for name in SECRETS:
        if (folder / name).is_file():
            shutil.copy(folder / name, settings.VAR / name)
    if different := {name: n for name, n in manifest.rows.items() if _count(name) != n}:
        raise BackupProblem(f"After the restore these tables have other counts than the backup: {different}.")
    return manifest


def digest_of(file: Path) -> str:
    """SHA-256 in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _tables() -> list[str]:
    return sorted(model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._meta.managed)


def _count(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")
        return int(cursor.fetchone()[0])


def _is_used() -> bool:
    return "accounts_user" in connection.introspection.table_names() and _count("accounts_user") > 0


def _migrations() -> dict[str, str]:
    rows = MigrationRecorder(connection).applied_migrations()
    return {app: max(name for of, name in rows if of == app) for app in sorted({app for app, _ in rows})}


# --- SQLite: its own backup interface copies page by page while others write ---


def _dump_sqlite(folder: Path) -> dict[str, int]:
    copy = folder / "database.sqlite3"
    with (
        closing(sqlite3.connect(f"file:{connection.settings_dict['NAME']}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        found = target.execute("PRAGMA integrity_check").fetchone()[0]
        if found != "ok":
            raise BackupProblem(f"The database is damaged: {found}")
        return {name: int(target.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]) for name in _tables()}


def _load_sqlite(folder: Path) -> None:
    place = Path(str(connection.settings_dict["NAME"]))
    new = place.with_name(f".{place.name}.restored")
    shutil.copy(folder / "database.sqlite3", new)
    for ending in ("-wal", "-shm"):
        place.with_name(place.name + ending).unlink(missing_ok=True)
    os.replace(new, place)


# --- PostgreSQL: its own programs, held to one snapshot with our counts ---


def _dump_postgresql(folder: Path) -> dict[str, int]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot = str(cursor.fetchone()[0])
        rows = {name: _count(name) for name in _tables()}
        _postgresql(
            "pg_dump", "--format=custom", "--no-owner", f"--snapshot={snapshot}", f"--file={folder / 'database.dump'}"
        )
    return rows


def _load_postgresql(folder: Path) -> None:
    _postgresql(
        "pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", "--exit-on-error",
        str(folder / "database.dump"),
    )  # fmt: skip


def _postgresql(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs on our database; the password goes by the environment, where no list of
    processes shows it."""
    place = connection.settings_dict
    options = {"--host": place["HOST"], "--port": place["PORT"], "--username": place["USER"], "--dbname": place["NAME"]}
    command = [program, *(f"{name}={value}" for name, value in options.items() if value), *arguments]
    environment = os.environ | ({"PGPASSWORD": place["PASSWORD"]} if place["PASSWORD"] else {})
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise BackupProblem(f"{program} is not installed; on Debian it is in postgresql-client.") from error
    if done.returncode:
        raise BackupProblem(f"{program} failed: {done.stderr.strip()}")


# --- files ---


def _pack_media(tar: Path) -> None:
    with tarfile.open(tar, "w") as archive:
        for file in _media_files():
            try:
                archive.add(file, arcname=str(file.relative_to(settings.MEDIA_ROOT)), recursive=False)
            except FileNotFoundError:
                continue  # deleted at this moment


def _media_files() -> Iterator[Path]:
    return (path for path in sorted(Path(settings.MEDIA_ROOT).rglob("*")) if path.is_file())


def _unpack_media(tar: Path) -> None:
    with tarfile.open(tar) as archive:
        archive.extractall(settings.MEDIA_ROOT, filter="data")


def _copy_secrets(folder: Path) -> None:
    for name in SECRETS:
        if (settings.VAR / name).is_file():
            shutil.copy(settings.VAR / name, folder / name)  # with its mode: for its owner only


@contextmanager
def nothing_runs(var: Path) -> Iterator[None]:
    """Hold the data folder. Raises BackupProblem while `manage.py run` has it, or somebody is connected to PostgreSQL:
    other hosts have other folders."""
    from arena_project.checks import EnvironmentProblem, lock_var

    try:
        lock = lock_var(var)
    except EnvironmentProblem as problem:
        raise BackupProblem(str(problem)) from problem
    with lock:
        if others := _connected():
            raise BackupProblem(f"The database is in use (open connections: {others}). Stop the server first.")
        yield


def _connected() -> int:
    """Connections of others to this PostgreSQL database."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
        return int(cursor.fetchone()[0])


def summary(manifest: Manifest) -> dict[str, Any]:
    """A few figures for people."""
    shown = {"people": "accounts_user", "battles": "battles_battle", "votes": "battles_preference"}
    return {name: manifest.rows.get(table, 0) for name, table in shown.items()}
