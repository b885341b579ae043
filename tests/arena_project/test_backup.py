"""A backup that is made while somebody votes, put back into an empty installation, is what was there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project

from arena_project import backup
from tests import prepared

BEGIN = """
import os, sys, threading, django
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "arena_project.settings"
django.setup()
from django.core.management import CommandError, call_command
from battles.models import Image
"""
# Each runs against an installation of its own. The first makes its backup while a thread adds battles with pictures.
OLD = (
    BEGIN
    + """
from django.core.files.base import ContentFile
from common.audit import Deed, note
from tests import factories
person, models = factories.user(), [factories.language_model() for _ in range(2)]
begun, stop = threading.Event(), threading.Event()

def write():
    while not stop.is_set():
        battle = factories.battle(person, models=models)
        image = Image(owner=person, turn=battle.turns.get(), media_type="image/png", width=1, height=1)
        image.file.save("a.png", ContentFile(b"picture"))
        note(Deed(actor_id=person.pk, action="test"))
        begun.set()

writer = threading.Thread(target=write)
writer.start()
begun.wait()
call_command("backup", sys.argv[1])
stop.set()
writer.join()
"""
)
NEW = (
    BEGIN
    + """
from django.db import DatabaseError, connection
call_command("restore", sys.argv[1])
print("missing", sum(not Path(image.file.path).is_file() for image in Image.objects.all()))
try:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_auditentry")
except DatabaseError as error:
    print("protected", error)
connection.close()
try:
    call_command("restore", sys.argv[1])
except CommandError as error:
    print("again", error)
if connection.vendor == "postgresql":
    other = connection.copy()
    other.ensure_connection()
    try:
        call_command("restore", sys.argv[1], "--replace")
    except CommandError as error:
        print("busy", error)
    other.close()
call_command("restore", sys.argv[1], "--replace")
"""
)


@pytest.fixture
def installations(tmp_path: Path) -> list[dict[str, str]]:
    """The environments of two, on databases of their own: PostgreSQL where DATABASE_URL names one, else SQLite. The
    first has its tables, the second has none."""
    url = os.environ.get("DATABASE_URL", "")
    old, new = (
        {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
        | {"TOURNEY_VAR": str(tmp_path / name)}
        for name in ("old", "new")
    )
    (tmp_path / "old").mkdir()
    old["DATABASE_URL"] = prepared.database_copy(tmp_path / "old", url)
    if url:
        new["DATABASE_URL"] = prepared.database_make(url)
    return [old, new]


def run(script: str, environment: dict[str, str], folder: Path) -> str:
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, env=environment, cwd=project.BASE_DIR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_backup_under_load_comes_back_whole(installations: list[dict[str, str]], tmp_path: Path) -> None:
    old, new = installations
    run(OLD, old, tmp_path / "backups")
    (folder,) = (tmp_path / "backups").iterdir()
    rows = json.loads((folder / "manifest.json").read_text())["rows"]
    assert rows["battles_battle"] >= 1
    assert not any((folder / name).exists() for name in backup.SECRETS)
    said = run(NEW, new, folder)
    assert f"{rows['battles_battle']:,} battles" in said
    assert "missing 0" in said
    assert "protected the audit log is only ever added to" in said
    assert "again This database holds people already" in said
    if "DATABASE_URL" in new:
        assert "busy The database is in use (open connections: 1)" in said


def whole(folder: Path, name: str = "tourney-20260101T000000Z") -> Path:
    """A backup as far as its manifest goes."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "media.tar").write_bytes(b"tar")
    manifest = backup.Manifest("2026-01-01", "0", "sqlite", files={"media.tar": backup.digest_of(place / "media.tar")})
    (place / backup.MANIFEST).write_text(json.dumps(backup.asdict(manifest)))
    return place


def test_a_damaged_backup_is_refused(tmp_path: Path) -> None:
    place = whole(tmp_path)
    assert backup.backup_check(place).vendor == "sqlite"
    (place / "media.tar").write_bytes(b"taz")
    with pytest.raises(backup.BackupProblem, match="has changed"):
        backup.backup_check(place)
    (place / backup.MANIFEST).write_text("{")
    with pytest.raises(backup.BackupProblem, match="no whole backup"):
        backup.backup_check(place)


def test_only_the_newest_are_kept_and_nothing_else_is_touched(tmp_path: Path) -> None:
    names = [f"tourney-2026010{day}T000000Z" for day in (1, 2, 3)]
    for name in names:
        whole(tmp_path, name)
    (tmp_path / "tourney-holiday-pictures").mkdir()
    assert [path.name for path in backup.backups_prune(folder=tmp_path, keep=2)] == names[:1]
    assert sorted(path.name for path in tmp_path.iterdir()) == [*names[1:], "tourney-holiday-pictures"]


@pytest.mark.django_db
def test_a_disk_that_is_full_leaves_no_half_backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(tar: Path) -> None:
        tar.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_dump_sqlite", lambda folder: {})
    monkeypatch.setattr(backup, "_dump_postgresql", lambda folder: {})
    monkeypatch.setattr(backup, "_pack_media", full)
    with pytest.raises(backup.BackupProblem, match="No space left"):
        backup.backup_make(folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db
def test_a_running_server_keeps_its_data(tmp_path: Path) -> None:
    from arena_project.checks import lock_var

    with lock_var(tmp_path), pytest.raises(backup.BackupProblem, match="runs on"), backup.nothing_runs(tmp_path):
        pass


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    place: dict[str, Any] = {"HOST": "", "PORT": "", "USER": "", "NAME": "x", "PASSWORD": ""}
    monkeypatch.setattr(backup, "connection", type("Connection", (), {"settings_dict": place}))
    with pytest.raises(backup.BackupProblem, match="pg_dump is not installed"):
        backup._postgresql("pg_dump")
