"""Every entrance has a limit: pages by address, work by person, sockets, and the log-in of the admin as any other."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image
from rest_framework.test import APIClient

from accounts import sockets
from accounts.jobs import job_create
from accounts.models import Job
from common import limits
from common.errors import StorageFailed, TooMany
from tests import factories

pytestmark = pytest.mark.django_db


def test_pages_are_limited_by_address_and_the_api_is_not_among_them(settings: Any) -> None:
    settings.PAGES_PER_MINUTE = 3
    client = Client()
    assert [client.get("/leaderboard/", REMOTE_ADDR="192.0.2.1").status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = client.get("/account/link/a/b/", REMOTE_ADDR="192.0.2.1")
    assert (refused.status_code, "too often" in refused.content.decode()) == (429, True)
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert client.get("/leaderboard/", REMOTE_ADDR="192.0.2.2").status_code == 200
    assert client.get("/api/v1/health/", REMOTE_ADDR="192.0.2.1").status_code == 200


def test_guesses_at_the_admins_log_in_are_counted_as_at_every_log_in() -> None:
    factories.staff("chief", password=factories.PASSWORD)
    client = Client()
    assert client.get("/admin/login/").headers["Location"].startswith("/account/login/")
    for _ in range(5):
        client.post("/account/login/", {"login": "chief", "password": "wrong"})
    page = client.post("/account/login/", {"login": "chief", "password": factories.PASSWORD})
    assert "_auth_user_id" not in client.session
    assert "Too many" in page.content.decode()


def test_jobs_and_keys_are_limited_by_person(settings: Any, client: Client) -> None:
    settings.JOBS_PER_HOUR = 2
    person, other = factories.user(), factories.user()
    for _ in range(2):
        job_create(owner=person, kind="test")
    with pytest.raises(TooMany):
        job_create(owner=person, kind="test")
    job_create(owner=other, kind="test")
    client.force_login(person)
    answers = [client.post("/account/keys/", {"name": "k", "scopes": ["read"]}).status_code for _ in range(31)]
    assert (answers[29], answers[30]) == (200, 400)


async def test_sockets_are_limited_by_person(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SOCKETS_PER_MINUTE = 1
    closed: list[int] = []

    class Window(sockets.SessionConsumer):
        async def accept(self, *args: Any, **named: Any) -> None: ...
        async def close(self, code: Any = None, reason: Any = None) -> None:
            closed.append(code)

    async def enter() -> bool:
        window = Window()
        session = type("Session", (), {"session_key": "s"})()
        window.scope = {"user": person, "session": session, "url_route": {"kwargs": {}}}  # type: ignore[typeddict-item]
        window.channel_layer, window.channel_name = get_channel_layer(), "test"
        entered = await window.enter()
        await window.leave()
        return entered

    person: Any = type("Person", (), {"pk": 7, "is_anonymous": False})()
    monkeypatch.setattr(sockets, "in_database_thread", lambda function: _later(function))
    assert [await enter(), await enter()] == [True, False]
    assert closed == [sockets.CLOSE_TOO_MANY]


def _later(function: Any) -> Any:
    async def call(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    return call


def test_a_cache_that_is_away_limits_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any, **named: Any) -> bool:
        raise ConnectionError("redis is away")

    monkeypatch.setattr(limits.cache, "add", fail)
    for _ in range(3):
        limits.hit("turns:7", limit=1, seconds=60)
    assert "the limit turns is not kept" in caplog.text


def test_a_disk_that_is_full_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, api_client: Callable[..., APIClient]
) -> None:
    def full(*args: Any, **named: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("django.core.files.storage.FileSystemStorage._save", full)
    picture = io.BytesIO()
    Image.new("RGB", (4, 4)).save(picture, "PNG")
    upload = SimpleUploadedFile("a.png", picture.getvalue(), "image/png")
    refused = api_client().post("/api/v1/images/", {"file": upload}, format="multipart")
    assert (refused.status_code, refused.json()["error"]["code"]) == (507, "storage_failed")
    with pytest.raises(StorageFailed):
        job_create(owner=factories.user(), kind="test", file=SimpleUploadedFile("a.json", b"[]"))
    assert not Job.objects.exists()
