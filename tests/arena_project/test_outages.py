"""Database or Redis away: said as such, with a status that tells programs to try again; a defect is not called that."""

from collections.abc import Callable
from typing import Any, NoReturn

import pytest
from django.db import InterfaceError, OperationalError
from django.db.backends.utils import CursorWrapper
from django.test import Client
from redis.exceptions import BusyLoadingError, ConnectionError, TimeoutError
from rest_framework.test import APIClient

from tests import factories

pytestmark = pytest.mark.django_db
AWAY = [OperationalError("server closed the connection"), InterfaceError("connection already closed")]
REDIS_AWAY = [ConnectionError("refused"), TimeoutError("slow"), BusyLoadingError("loading the dataset")]


def fail_with(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def execute(*args: Any, **kwargs: Any) -> NoReturn:
        raise error

    monkeypatch.setattr(CursorWrapper, "execute", execute)


@pytest.mark.parametrize("error", AWAY + REDIS_AWAY, ids=repr)
def test_a_page_says_what_is_away(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(factories.user())
    fail_with(monkeypatch, error)
    answer = client.get("/history/")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert ("database" if error in AWAY else "memory") in answer.content.decode()
    assert "Nothing that was saved is lost" in answer.content.decode()


@pytest.mark.parametrize("error", [*AWAY[:1], *REDIS_AWAY[:1]], ids=repr)
def test_a_program_is_told_to_try_again(
    monkeypatch: pytest.MonkeyPatch, api_client: Callable[..., APIClient], error: Exception
) -> None:
    client = api_client()
    client.raise_request_exception = False
    fail_with(monkeypatch, error)
    answer = client.get("/api/v1/battles/")
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "unavailable"


@pytest.mark.parametrize("error", [OperationalError("no such table: x"), ValueError("a slip")], ids=repr)
def test_a_defect_stays_a_defect(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(factories.user())
    fail_with(monkeypatch, error)
    assert client.get("/history/").status_code == 500
