"""What all tests share."""

import asyncio
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import TransactionTestCase, override_settings
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from rest_framework.test import APIClient

from providers.adapters.http import close_clients
from tests import factories, prepared
from tests.embedded import embedded_server  # noqa: F401 # a fixture
from tests.fakes.upstream import Upstream
from tests.line import Line
from tests.live import Person
from tests.server import Server, start

# The same examples in every run, however busy the machine is.
hypothesis_settings.register_profile(
    "tourney", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("tourney")

SHARED_DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        prepared.begin(is_parallel=bool(getattr(config.option, "numprocesses", None)))


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        prepared.end()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> Iterator[None]:
    """Each process begins with a copy of one database, which has its tables already."""
    test = connection.settings_dict["TEST"]
    test["MIGRATE"] = False
    if connection.vendor == "postgresql":
        test["TEMPLATE"] = prepared.database(os.environ["DATABASE_URL"].strip())
        yield
        return
    place = Path(test["NAME"])
    files = [place.with_name(place.name + ending) for ending in ("", "-wal", "-shm")]
    for file in files:  # of a run that was killed
        file.unlink(missing_ok=True)
    shutil.copy(prepared.database(), place)
    yield
    connection.close()
    for file in files:
        file.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Django deletes a file that is there; on PostgreSQL it makes the copy itself."""
    return connection.vendor == "sqlite"


@pytest.fixture(autouse=True, scope="session")
def _passwords_are_quick() -> Iterator[None]:
    """The hash that people's passwords get is slow on purpose."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    """Limits and locks of one test are not another's."""
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(autouse=True, scope="session")
def _real_transactions_end_in_a_copy() -> Iterator[None]:
    """After a test with real transactions Django empties all tables and fills a few again. On SQLite a copy of the
    database as it began is quicker, and the audit log's triggers do not refuse it."""
    empty = TransactionTestCase._fixture_teardown

    def copy(self: TransactionTestCase) -> None:
        if connection.vendor != "sqlite":
            return empty(self)
        connection.ensure_connection()
        with closing(sqlite3.connect(prepared.database())) as beginning:
            beginning.backup(connection.connection)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", copy)
        yield


@pytest.fixture(autouse=True, scope="session")
def _loops_that_end() -> Iterator[None]:
    """Before Python 3.12 `wait_for` can lose a cancellation (CPython issue 86296), and Redis's client waits with it: a
    loop that cancels its tasks once would then wait for ever for one that listens for ever. Connections to upstreams
    are closed, as a worker does it."""

    def cancel_until_done(loop: asyncio.AbstractEventLoop) -> None:
        loop.run_until_complete(close_clients())
        for _ in range(100):
            if not (tasks := asyncio.all_tasks(loop)):
                return
            for task in tasks:
                task.cancel()
            loop.run_until_complete(asyncio.wait(tasks, timeout=0.2))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.runners, "_cancel_all_tasks", cancel_until_done)
        yield


@pytest.fixture(autouse=True)
def _language_of_one_test_only() -> Iterator[None]:
    """A request in another language leaves its thread in it, until the next request."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def _connection_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels closes connections after each call, as Django does after each request; in a test that would end the
    transaction that is to be rolled back. Django's own test client does the same."""
    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)


@pytest.fixture(autouse=True)
def _no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks a name server: what one answers, and how late, depends on the machine. Names are unknown at once;
    numbers, and this machine's own name, are as ever."""
    known = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> list[Any]:
        if host not in ("localhost", b"localhost", None):
            flags |= socket.AI_NUMERICHOST
        return known(host, port, family, type, proto, flags)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


@pytest.fixture
def shared_data() -> Path:
    """Public data sets beside the checkout. Absent they are skipped, but not where CONFORMANCE=1 asks for them."""
    if not SHARED_DATA.is_dir():
        if os.environ.get("CONFORMANCE") == "1":
            pytest.fail(f"CONFORMANCE=1 needs the data sets in {SHARED_DATA}")
        pytest.skip(f"there are no data sets in {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture
def api_client(db: None) -> Callable[..., APIClient]:
    """`api_client(owner, scopes=[...])`: a client with a key; all scopes and an administrator by default."""

    def make(owner: factories.User | None = None, scopes: tuple[str, ...] = factories.ALL_SCOPES) -> APIClient:
        client = APIClient()
        _, key = factories.api_key(owner, scopes=scopes)
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
        return client

    return make


@pytest.fixture(scope="session")
def upstream() -> Iterator[Upstream]:
    """The fake upstream of this session's server."""
    with Upstream() as running:
        yield running


@pytest.fixture(scope="session")
def server(upstream: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A whole Tourney in its own process; started once, so tests use battles and people of their own."""
    running = start(tmp_path_factory.mktemp("server"), upstream_url=upstream.url)
    yield running
    running.stop()


@pytest.fixture
def person(server: Server) -> Person:
    """Somebody who is logged in at the server."""
    return Person(server, server.accounts[1])


@pytest.fixture
def line(person: Person) -> Iterator[Line]:
    """That person before an endpoint that takes one at a time."""
    line = Line(person)
    yield line
    line.go_on()
