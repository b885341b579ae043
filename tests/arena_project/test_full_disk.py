"""A disk without room: said in words where people and operators look, nothing that was stored is lost, and all is well
again when there is room."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from django.db import OperationalError, connection
from django.db.backends.utils import CursorWrapper
from django.test import Client
from rest_framework.test import APIClient

from arena_project import readiness
from battles.models import Battle
from common.outages import DatabaseAway, DiskFull, outage_of
from tests import factories

FULL = OSError(errno.ENOSPC, "No space left on device")


@contextmanager
def without_room() -> Iterator[None]:
    """SQLite may not grow."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA page_count")
        (pages,) = cursor.fetchone()
        cursor.execute(f"PRAGMA max_page_count = {pages}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")


def begin(client: APIClient) -> Any:
    return client.post("/api/v1/battles/", {"prompt": "x" * 20_000, "models": ["one", "two"]}, format="json")


@pytest.mark.django_db(transaction=True)
def test_a_program_is_told_and_what_was_stored_is_there(api_client: Callable[..., APIClient]) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("a limit on the size of a database is SQLite's")
    person = factories.user()
    for slug in ("one", "two"):
        factories.language_model(slug)
    program, browser = api_client(person, scopes=("read", "run")), Client()
    program.raise_request_exception = False
    browser.force_login(person)
    begun = 0
    with without_room():
        while (answer := begin(program)).status_code == 201 and begun < 40:  # into what is free in the file
            begun += 1
        assert (answer.status_code, answer.json()["error"]["code"]) == (507, "disk_full")
        assert "Nothing that was saved is lost" in answer.json()["error"]["message"]
        assert Battle.objects.count() == begun
        assert browser.get("/history/").status_code == 200
    assert begin(program).status_code == 201
    assert Battle.objects.count() == begun + 1


@pytest.mark.django_db
def test_a_page_says_that_the_disk_is_full_and_does_not_promise_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(factories.user())

    def execute(*args: Any, **kwargs: Any) -> NoReturn:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(CursorWrapper, "execute", execute)
    answer = client.get("/history/")
    assert answer.status_code == 507
    assert "The disk is full" in answer.content.decode()
    assert "moment" not in answer.content.decode()


def test_postgresql_s_full_disk_is_one_too_and_its_restart_is_none() -> None:
    errors = pytest.importorskip("psycopg2.errors")
    for cause, outage in (
        (errors.DiskFull("could not extend file"), DiskFull),
        (errors.AdminShutdown(""), DatabaseAway),
    ):
        said = OperationalError(str(cause))
        said.__cause__ = cause
        assert type(outage_of(said)) is outage
    assert type(outage_of(FULL)) is DiskFull
    assert outage_of(OSError(errno.EACCES, "Permission denied")) is None


def test_readiness_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(self: Path, data: bytes) -> NoReturn:
        raise FULL

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(readiness.NotReady, match="No space left on device"):
        readiness.storage()
