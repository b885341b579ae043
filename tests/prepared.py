"""What takes long and is made once for all tests of a run, whatever the number of their processes: a database with all
tables and nothing else, to be copied, and the static files. `python -m tests.prepared` makes both."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from tests.commands import ROOT, Commands

FOLDER = "TOURNEY_TESTS_FOLDER"  # names the folder of a run to all of its processes
SQLITE = "tourney.sqlite3"

_ahead: list[subprocess.Popen[bytes]] = []


def begin(*, is_parallel: bool) -> None:
    """By the first process. Where others follow, both are made while those read the tests."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="tourney-tests-")
    if is_parallel:
        _ahead.append(subprocess.Popen([sys.executable, "-m", "tests.prepared"], cwd=ROOT))


def end() -> None:
    """By the first process after all others: nothing stays."""
    while _ahead:
        _ahead.pop().wait()
    folder = Path(os.environ.pop(FOLDER))
    if (made := folder / "made").exists():
        for name in made.read_text().split():
            _postgresql(os.environ["DATABASE_URL"], f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    shutil.rmtree(folder, ignore_errors=True)


def static() -> str:
    """The folder of the static files."""
    with _once("static") as (folder, is_new):
        if is_new:
            _manage(folder, "collectstatic", "--noinput", STATIC_ROOT=str(folder))
        return str(folder)


def database(url: str = "") -> str:
    """The one to copy: a file, or a database of this name on the PostgreSQL of `url`."""
    with _once("postgresql" if url else "sqlite") as (folder, is_new):
        if is_new:
            address = database_make(url) if url else f"sqlite:///{folder / SQLITE}"
            _manage(folder, "migrate", DATABASE_URL=address)
            (folder / "name").write_text(urlsplit(address).path[1:] if url else str(folder / SQLITE))
        return (folder / "name").read_text()


def database_copy(folder: Path, url: str = "") -> str:
    """The address of a copy: a file in `folder`, where an installation looks for it, or beside the one of `url`."""
    if url:
        return database_make(url, template=database(url))
    shutil.copy(database(), folder / SQLITE)
    return f"sqlite:///{folder / SQLITE}"


def database_make(url: str, *, template: str = "template1") -> str:
    """Make a PostgreSQL database on the server of `url`, empty or as another one is; its address."""
    name = f"tourney_test_{uuid.uuid4().hex[:12]}"
    with (Path(os.environ[FOLDER]) / "made").open("a") as made:
        made.write(f"{name}\n")
    _postgresql(url, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


@contextmanager
def _once(name: str) -> Iterator[tuple[Path, bool]]:
    """The folder of what is made once, and whether it is to be made now; other processes wait meanwhile."""
    folder = Path(os.environ[FOLDER]) / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        try:
            yield folder, is_new
        except BaseException:
            if is_new:
                shutil.rmtree(folder)
            raise


def _manage(folder: Path, *arguments: str, **variables: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    commands = Commands(inherited | {"TOURNEY_VAR": str(folder)} | variables)
    try:
        commands.run("manage.py", *arguments, "--verbosity", "0")
    finally:
        commands.stop()


def _postgresql(url: str, statement: str) -> None:
    import psycopg2  # only where there is PostgreSQL

    connection = psycopg2.connect(urlunsplit(urlsplit(url)._replace(path="/postgres")))
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()


if __name__ == "__main__":
    database(os.environ.get("DATABASE_URL", "").strip())
    static()
