"""What is at hand already is found, said in sentences, and never holds a key."""

from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from pytest_django import Settings

from providers import discovery, selectors, services
from providers.discovery import KEYS, SERVERS, Discovery, discover
from providers.models import Endpoint
from tests.fakes.upstream import Upstream


def port_of(upstream: Upstream) -> int:
    return int(upstream.url.removesuffix("/v1").rsplit(":", 1)[1])


@pytest.fixture
def var(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, and a machine without servers and keys."""
    settings.VAR = tmp_path
    monkeypatch.setattr(discovery, "_server", lambda name, port: None)
    for variable, _ in KEYS:
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def test_a_server_on_this_machine_is_found_with_its_models() -> None:
    with Upstream() as upstream:
        [found] = discover(environment={}, servers={"Ollama": port_of(upstream)})
    assert found.name == "Ollama"
    assert f"A server answers at {upstream.url}. It offers steady, other, slow" in found.what
    assert found.what.endswith(" and more.")
    assert "The endpoint Ollama is ready in the administration" in found.how


def test_our_own_ports_are_not_asked() -> None:
    with Upstream() as upstream:
        assert discover(environment={}, servers={"vLLM": port_of(upstream)}, own_ports={port_of(upstream)}) == []


@pytest.mark.parametrize("body", [b"<html>a page</html>", b'{"models": []}', b"\xff\xfe", b'{"data": 3}'])
def test_another_server_on_such_a_port_is_no_discovery(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    monkeypatch.setattr(Upstream, "_get", lambda self, path: head + body)
    with Upstream() as upstream:
        assert discover(environment={}, servers={"vLLM": port_of(upstream)}) == []


def test_a_closed_port_is_no_discovery() -> None:
    with Upstream() as upstream:
        port = port_of(upstream)
    assert discover(environment={}, servers={"vLLM": port}) == []


def test_keys_are_named_by_their_variable_and_never_shown() -> None:
    found = discover(environment={variable: "very-secret" for variable, _ in KEYS}, servers={})
    assert [each.name for each in found] == [service for _, service in KEYS]
    for each, (variable, service) in zip(found, KEYS, strict=True):
        assert variable in each.what
        assert f"ready endpoint {service} uses it:" in each.how
    assert "very-secret" not in repr(found)


def test_an_empty_variable_is_no_key() -> None:
    assert discover(environment={"OPENAI_API_KEY": " "}, servers={}) == []


def test_what_was_found_is_kept_for_the_pages(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "very-secret")
    services.discoveries_update()
    assert [found.name for found in selectors.discoveries()] == ["Groq"]
    assert "very-secret" not in (var / "discovery.json").read_text()


@pytest.mark.parametrize("content", [None, "", "{}", "[", '[{"name": 3}]', "\udcff"])
def test_a_missing_or_broken_file_means_nothing_was_found(var: Path, content: str | None) -> None:
    if content is not None:
        (var / "discovery.json").write_bytes(content.encode(errors="surrogateescape"))
    assert selectors.discoveries() == []


def test_the_command_says_how_to_go_on(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = StringIO()
    call_command("providers_discover", stdout=out)
    assert "Nothing was found" in out.getvalue()
    monkeypatch.setattr(services, "discover", lambda **_: [Discovery("Ollama", "It is there.", "Add it.")])
    call_command("providers_discover", stdout=out)
    assert "Ollama: It is there.\n  Add it." in out.getvalue()


@pytest.mark.django_db
def test_all_that_is_found_has_a_ready_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, _ in KEYS:
        monkeypatch.setenv(variable, "very-secret")
    services.presets_seed()
    ready = Endpoint.objects.values_list("api_key_variable", "name")
    assert set(ready.filter(has_key=True)) == set(KEYS)
    local = Endpoint.objects.filter(needs_key=False).exclude(slug="embedded")
    assert {endpoint.name: urlsplit(endpoint.base_url).port for endpoint in local} == SERVERS


def test_each_server_has_a_port_of_its_own() -> None:
    assert len(set(SERVERS.values())) == len(SERVERS)
