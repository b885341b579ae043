"""What load balancers and Prometheus ask: is it alive, is it ready, what has it measured."""

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest
from asgiref.testing import ApplicationCommunicator
from pytest_django import Settings

from arena_project import probes, readiness
from tests.live import Person
from tests.server import METRICS_TOKEN, Server


async def ask(path: str, *, client: str = "192.0.2.7", method: str = "GET", **headers: str) -> tuple[int, Any]:
    """Status and body, of JSON where it is that."""

    async def behind(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b"behind"})

    given = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": path, "method": method, "headers": given, "client": (client, 1)}
    talk = ApplicationCommunicator(probes.Probes(behind), scope)
    await talk.send_input({"type": "http.request", "body": b""})
    start = await talk.receive_output(10)
    body = (await talk.receive_output(10))["body"]
    is_json = (b"content-type", b"application/json") in start["headers"]
    return start["status"], json.loads(body) if is_json and body else body.decode()


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A cache that does not answer until the test ends; holds how often it was asked."""
    release, asked = threading.Event(), [0]

    def hang() -> None:
        asked[0] += 1
        release.wait(30)

    monkeypatch.setitem(readiness.BLOCKING, "cache", hang)
    monkeypatch.setattr(readiness, "TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(readiness, "_under_way", {})
    yield asked
    release.set()


async def test_a_process_that_runs_is_alive_whatever_the_database_does() -> None:
    """Without the database fixture every query is refused."""
    status, body = await ask("/healthz")
    assert (status, body["status"]) == (200, "ok")
    assert (await ask("/healthz", method="HEAD")) == (200, "")
    assert (await ask("/healthz", method="POST"))[0] == 405
    assert (await ask("/healthz/")) == (299, "behind")


@pytest.mark.django_db(transaction=True)
async def test_a_server_whose_parts_are_there_is_ready() -> None:
    status, body = await ask("/readyz")
    assert (status, body["status"]) == (200, "ready"), body
    assert body["checks"] == dict.fromkeys([*readiness.BLOCKING, *readiness.AWAITED], "ok")


async def test_a_database_that_is_gone_is_named_and_its_words_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ConnectionError("postgresql://user:secret@10.0.0.1")

    monkeypatch.setitem(readiness.BLOCKING, "database", fail)
    status, body = await ask("/readyz")
    assert status == 503
    assert body["checks"]["database"] == "it cannot be reached; the log says more"
    assert "secret" not in json.dumps(body)


async def test_a_part_that_hangs_is_named_and_not_asked_again_meanwhile(hanging: list[int]) -> None:
    for _ in range(3):
        status, body = await ask("/readyz")
        assert status == 503
        assert body["checks"]["cache"].startswith("no answer within")
    assert hanging == [1]


async def test_missing_migrations_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    check = readiness.Migrations()
    check._missing, check._at = 3, float("inf")
    with pytest.raises(readiness.NotReady, match="3 are not applied"):
        check()


def test_a_folder_that_cannot_be_written_is_told(settings: Settings, tmp_path: Any) -> None:
    settings.VAR = tmp_path / "gone"
    with pytest.raises(readiness.NotReady, match="cannot be written"):
        readiness.storage()


async def test_metrics_are_for_those_who_are_named(settings: Settings) -> None:
    settings.METRICS_TOKEN, settings.METRICS_FROM = "", []
    assert (await ask("/metrics", client="127.0.0.1"))[0] == 404
    settings.METRICS_TOKEN, settings.METRICS_FROM = "abc", ["10.0.0.0/8"]
    assert (await ask("/metrics"))[0] == 401
    assert (await ask("/metrics", Authorization="Bearer abcd"))[0] == 401
    assert (await ask("/metrics", Authorization="Bearer abc"))[0] == 200
    status, text = await ask("/metrics", client="10.1.2.3")
    assert status == 200
    assert "tourney_votes_total" in text
    assert "tourney_queue_length" in text


async def test_the_redis_broker_that_is_gone_leaves_the_queue_out(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = "redis://127.0.0.1:9/0"
    settings.METRICS_TOKEN = "abc"
    status, text = await asyncio.wait_for(ask("/metrics", Authorization="Bearer abc"), 10)
    assert status == 200
    assert "tourney_queue_length" not in text


@pytest.mark.xdist_group("server")
def test_a_battle_is_in_the_metrics_of_a_real_server(server: Server, person: Person) -> None:
    battle = person.battle("steady", "broken-500")
    with person.watch(battle["id"]) as window:
        window.until_ended()
        request = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
    values = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}
    steady = 'endpoint="axolotl-endpoint",model="steady"'
    assert values[f"tourney_first_token_seconds_count{{{steady}}}"] >= 1
    assert values[f"tourney_tokens_per_second_count{{{steady}}}"] >= 1
    assert (
        values['tourney_generation_failures_total{endpoint="axolotl-endpoint",kind="upstream",model="broken-500"}'] >= 1
    )
    assert values["tourney_sockets_open"] >= 1
    assert values['tourney_http_requests_total{method="POST",route="api/v1/battles/",status="201"}'] >= 1
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(f"{server.url}/metrics", timeout=30)
    assert refused.value.code == 401
