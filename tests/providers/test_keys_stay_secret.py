"""Whatever goes wrong, a key stands in no log, error, page, history, export, answer of the API or traceback."""

import asyncio
import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.core import serializers
from django.test import Client
from rest_framework.test import APIClient

from arena_project.catalogue import catalogue_dump
from providers import keys, live
from providers.adapters.base import Message, ProviderError
from providers.adapters.http import close_clients
from providers.client import stream_answer
from providers.live import GenerationRecord
from providers.models import Endpoint, LanguageModel
from providers.selectors import target_for
from tests import factories

KEYS = {"pasted": "sk-pasted-0123456789abcdef", "variable": "sk-from-the-environment-0123456789"}


@pytest.fixture(scope="module")
def gossip() -> Iterator[str]:
    """A service that refuses every request and repeats in its refusal all that it was sent."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = b'{"error": {"message": "I do not like ' + head.replace(b'"', b"'").replace(b"\r\n", b" ") + b'"}}'
        writer.write(b"HTTP/1.1 401 No\r\ncontent-type: application/json\r\nconnection: close\r\n")
        writer.write(b"content-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)


@pytest.fixture(params=["openai", "anthropic", "gemini"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(KEYS))
def secret(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.setenv("GOSSIP_KEY", KEYS["variable"])
    return request.param, KEYS[request.param]


def model_with_key(url: str, kind: str, where: str) -> LanguageModel:
    endpoint = factories.endpoint(base_url=url, kind=kind, api_key_variable="GOSSIP_KEY", quirks={})
    if where == "pasted":
        keys.endpoint_key_set(endpoint=endpoint, key=KEYS["pasted"])
    return factories.language_model(endpoint=endpoint)


@pytest.mark.django_db
def test_a_refusal_that_repeats_the_key_is_stored_without_it(
    gossip: str,
    kind: str,
    secret: tuple[str, str],
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    target = target_for(model_with_key(gossip, kind, secret[0]))
    assert target.api_key == secret[1]
    records: list[GenerationRecord] = []
    seen: list[str] = []

    async def save(id: Any, record: GenerationRecord) -> None:
        records.append(record)

    async def run() -> None:
        try:
            async for _ in stream_answer(target, [Message("user", "Hi")]):
                pass
        except ProviderError as error:
            seen.extend([str(error), repr(error), error.detail, "".join(traceback.format_exception_only(error))])
        id = uuid4()
        live.start(id, target, [Message("user", "Hi")], save)
        await live.wait(id)
        await close_clients()

    asyncio.run(run())
    assert "I do not like" in seen[0], "the refusal must have come through for this test to mean anything"
    assert records[-1].error_kind == "auth"
    said = " ".join([*seen, repr(target), repr(records), caplog.text, *capsys.readouterr()])
    assert secret[1] not in said


@pytest.mark.django_db
def test_no_page_dump_or_answer_holds_a_key(
    gossip: str, kind: str, secret: tuple[str, str], client: Client, api_client: Callable[..., APIClient]
) -> None:
    model = model_with_key(gossip, kind, secret[0])
    endpoint = model.endpoint
    assert endpoint
    client.force_login(factories.staff())
    pages = ["endpoint/", f"endpoint/{endpoint.pk}/change/", f"endpoint/{endpoint.pk}/history/", "languagemodel/"]
    said = [client.get(f"/admin/providers/{page}").content.decode() for page in pages]
    said.append(client.post(f"/admin/providers/endpoint/{endpoint.pk}/test/", follow=True).content.decode())
    said.append(client.get(f"/admin/providers/endpoint/{endpoint.pk}/models/", follow=True).content.decode())
    said.append(api_client().get("/api/v1/models/").content.decode())
    said.append(api_client().get("/api/v1/health/").content.decode())
    said.append(catalogue_dump())
    said.append(serializers.serialize("json", Endpoint.objects.all()))
    said.extend(entry.change_message + entry.object_repr for entry in LogEntry.objects.all())
    assert "does not accept the key" in said[4], "the connection must have been tried for this test to mean anything"
    assert secret[1] not in "".join(said)
