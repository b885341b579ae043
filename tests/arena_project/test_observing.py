"""What is in the log: ids, and neither prompts nor keys; what is in traces."""

import asyncio
import json
import logging
import re
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pytest_django import Settings

from arena_project import tasks_observed
from common import logs, metrics, tracing
from common.aio import spawn
from tests import factories
from tests.live import Person
from tests.server import METRICS_TOKEN, Server
from tests.server_data import UPSTREAM_KEY


def line_of(message: str, *arguments: object, formatter: type[logging.Formatter] = logs.JSONFormatter) -> str:
    return formatter().format(logging.LogRecord("test", logging.INFO, "", 1, message, arguments, None))


def test_a_line_carries_the_ids_of_where_it_was_written() -> None:
    with logs.bound(request="r1", battle="b1"), logs.bound(user=lambda: "7", task=""):
        line = json.loads(line_of("Hello %s", "there"))
    assert {key: line[key] for key in ("level", "logger", "message", "request", "battle", "user")} == {
        "level": "info", "logger": "test", "message": "Hello there", "request": "r1", "battle": "b1", "user": "7",
    }  # fmt: skip
    assert "task" not in line
    assert "request" not in json.loads(line_of("Later"))


async def test_a_task_that_outlives_its_request_keeps_the_ids() -> None:
    found: list[dict[str, str]] = []

    async def later() -> None:
        found.append(logs.ids_now())

    with logs.bound(request="r1", user=lambda: "7"):
        task = spawn(later())
    await task
    assert found == [{"request": "r1", "user": "7"}]


@pytest.mark.parametrize("formatter", [logs.JSONFormatter, logs.PlainFormatter])
@pytest.mark.parametrize(
    "secret",
    ["tny_0a1b2c3d_abcDEF-123456789", "sk-ant-0123456789abcdef", "gsk_0123456789abcdef", "Bearer abc.def",
     "redis://user:hunter2@host", "AIzaSyA0123456789abcdefghij"],
)  # fmt: skip
def test_what_looks_like_a_key_is_taken_out(secret: str, formatter: type[logging.Formatter]) -> None:
    line = line_of("It said %r", f"no: {secret}", formatter=formatter)
    assert secret not in line
    assert "hunter2" not in line
    assert "[secret]" in line


def test_a_row_that_postgresql_repeats_is_left_out_unless_asked_for(settings: Settings) -> None:
    error = 'null value in column "x"\nDETAIL:  Failing row contains (1, my secret prompt).'
    assert "my secret prompt" not in line_of("failed: %s", error)
    settings.LOG_PROMPTS = True
    assert "my secret prompt" in line_of("failed: %s", error)


@pytest.mark.django_db
def test_an_answer_names_its_request_and_takes_no_strange_name() -> None:
    client = Client()
    assert client.get("/", headers={"X-Request-ID": "from-a-proxy-1"}).headers["X-Request-ID"] == "from-a-proxy-1"
    assert re.fullmatch("[0-9a-f]{16}", client.get("/").headers["X-Request-ID"])
    assert re.fullmatch("[0-9a-f]{16}", client.get("/", headers={"X-Request-ID": "a b\tc"}).headers["X-Request-ID"])


@pytest.mark.django_db
def test_a_request_has_a_line_with_its_route_and_no_address(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.LOG_REQUESTS = True
    caplog.set_level(logging.INFO, "tourney.requests")
    client, person = Client(), factories.user()
    client.force_login(person)
    battle = factories.battle(person)
    client.get(f"/battles/{battle.pk}/?q=my+search")
    client.get("/s/secret-share-token/")
    fields = [record.fields for record in caplog.records if hasattr(record, "fields")]
    assert [(f["route"], f["status"]) for f in fields] == [("battles/<uuid:battle_id>/", 200), ("s/<slug:token>/", 404)]
    assert "my+search" not in caplog.text + repr(fields)
    assert "secret-share-token" not in repr(fields)


def test_a_task_carries_the_request_that_asked_for_it_and_is_measured() -> None:
    headers: dict[str, Any] = {}
    with logs.bound(request="r9"):
        tasks_observed._name_request(headers=headers)
    task = SimpleNamespace(name=f"test_{uuid4().hex}", request=headers)
    tasks_observed._begin(task_id="t1", task=task)
    assert logs.ids_now() == {"task": "t1", "kind": task.name, "request": "r9"}
    tasks_observed._end(task_id="t1", task=task, state="SUCCESS")
    assert logs.ids_now() == {}
    count = metrics.REGISTRY.get_sample_value("tourney_task_seconds_count", {"task": task.name, "state": "success"})
    assert count == 1


@pytest.mark.xdist_group("server")
def test_the_log_of_a_battle_holds_ids_and_neither_prompt_nor_key(server: Server, person: Person) -> None:
    prompt = f"zanzibar-{uuid4().hex}"
    battle = person.battle("steady", "broken-500", prompt=prompt)
    with person.watch(battle["id"]) as window:
        window.until_ended()
        window.send("prompt", text=f"and {prompt} again")
        window.until("turn")
        window.until_ended()
        window.send("preference", choice="tie", comment=prompt)
        window.until("revealed", "refused")
    log = server.log
    for secret in (prompt, UPSTREAM_KEY, person.account.api_key, person.account.session_key, METRICS_TOKEN):
        assert secret not in log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    of_battle = [line for line in lines if line.get("battle") == battle["id"]]
    assert of_battle, "the battle must have left a line for this test to mean anything"
    assert all(line["request"] for line in of_battle)
    assert {line.get("route") for line in lines} >= {"api/v1/battles/"}
    assert any("generation" in line for line in of_battle)


async def test_a_span_has_ids_and_no_words_of_an_exception(settings: Settings) -> None:
    exporter = InMemorySpanExporter()
    settings.OTEL = True
    tracing.tracing_begin(process="test", exporter=exporter)
    try:
        with logs.bound(battle="b1"), pytest.raises(ValueError, match="prompt"), tracing.span("generation", tokens=3):
            raise ValueError("a prompt in an error")
        with tracing.span("after"):
            await asyncio.sleep(0)
    finally:
        tracing.tracing_end()
    first, second = exporter.get_finished_spans()
    assert dict(first.attributes or {}) == {"tourney.battle": "b1", "tourney.tokens": 3}
    assert "a prompt in an error" not in first.to_json()
    assert second.name == "after"
    assert dict(first.resource.attributes)["service.name"] == "tourney"


def test_without_tracing_a_span_is_nothing() -> None:
    tracing.tracing_begin(process="test")  # OTEL is off
    with tracing.span("nothing") as current:
        assert current is None
