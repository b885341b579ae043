"""An endpoint's list of models is read in every dialect, and what is wrong with an endpoint is said in words."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from providers.adapters.base import ErrorKind, ProviderError, Target, Timeouts
from providers.upstream_models import ConnectionReport, UpstreamModel, connection_check, models_of
from tests.fakes.pages import Page, Pages

KEY = "sk-very-secret"
HTML = Page(b"<!DOCTYPE html><title>Welcome</title>", kind="text/html")


def listed(pages: dict[str, Page], kind: str = "openai", path: str = "/v1", key: str = KEY) -> list[UpstreamModel]:
    with Pages(pages) as server:
        return asyncio.run(models_of(Target(kind, server.url + path, "", api_key=key)))


def one(entry: dict[str, Any]) -> UpstreamModel:
    [model] = listed({"/v1/models": Page({"object": "list", "data": [entry]})})
    return model


def checked(address: str, kind: str = "openai", key: str = KEY) -> ConnectionReport:
    return asyncio.run(connection_check(Target(kind, address, "", api_key=key, timeouts=Timeouts(connect=1))))


@contextmanager
def deaf() -> Iterator[str]:
    """An address that takes connections and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(5)
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("entry", "model"),
    [
        ({"id": "gpt", "object": "model", "owned_by": "x"}, UpstreamModel("gpt", "gpt")),
        ({"id": "m", "max_model_len": 4096}, UpstreamModel("m", "m", 4096)),
        ({"id": "m", "context_window": 8192, "active": True}, UpstreamModel("m", "m", 8192)),
        ({"id": "m", "meta": {"n_ctx_train": 2048}}, UpstreamModel("m", "m", 2048)),
        (
            {"id": "m", "name": "M large", "max_context_length": 100, "capabilities": {"vision": True}},
            UpstreamModel("m", "M large", 100, sees_images=True),
        ),
        (
            {
                "id": "a/m",
                "name": "A: M",
                "context_length": 262144,
                "pricing": {"prompt": "0.00000015", "completion": "0.0000006", "request": "0"},
                "architecture": {"input_modalities": ["text", "image"]},
            },
            UpstreamModel("a/m", "A: M", 262144, Decimal("0.15"), Decimal("0.6"), True),
        ),
        (
            {"id": "a/m:free", "pricing": {"prompt": "0", "completion": "0"}, "architecture": {"input_modalities": []}},
            UpstreamModel("a/m:free", "a/m:free", None, Decimal(0), Decimal(0), False),
        ),
        ({"id": "auto", "pricing": {"prompt": "-1", "completion": "NaN"}}, UpstreamModel("auto", "auto")),
    ],
)
def test_what_a_service_says_of_a_model_is_read(entry: dict[str, Any], model: UpstreamModel) -> None:
    assert one(entry) == model


def test_a_bare_list_is_read_and_models_that_write_no_text_are_left_out() -> None:
    entries = [
        {"id": "m", "type": "chat", "display_name": "M", "context_length": 10, "pricing": {"input": 0.9, "output": 2}},
        {"id": "flux", "type": "image"},
    ]
    assert listed({"/v1/models": Page(entries)}) == [UpstreamModel("m", "M", 10, Decimal("0.9"), Decimal(2))]


def test_anthropics_pages_are_followed() -> None:
    seeing = {"image_input": {"supported": True}}
    first = {"id": "claude 1", "display_name": "Claude One", "max_input_tokens": 200_000, "capabilities": seeing}
    pages = {
        "/v1/models?limit=1000": Page({"data": [first], "has_more": True, "last_id": "claude 1"}),
        "/v1/models?limit=1000&after_id=claude%201": Page({"data": [{"id": "claude-2"}], "has_more": False}),
    }
    with Pages(pages, needs={"x-api-key": KEY, "anthropic-version": "2023-06-01"}) as server:
        found = asyncio.run(models_of(Target("anthropic", server.url + "/v1/", "", api_key=KEY)))
    assert found == [
        UpstreamModel("claude 1", "Claude One", 200_000, sees_images=True),
        UpstreamModel("claude-2", "claude-2"),
    ]


def test_geminis_pages_are_followed_and_only_models_that_write_are_listed() -> None:
    writer = {"name": "models/gemini-x", "displayName": "Gemini X", "inputTokenLimit": 1_048_576}
    pages = {
        "/v1beta/models?pageSize=1000": Page({"models": [writer], "nextPageToken": "a/b"}),
        "/v1beta/models?pageSize=1000&pageToken=a%2Fb": Page(
            {
                "models": [
                    {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
                    {"name": "models/gemini-y", "supportedGenerationMethods": ["generateContent", "countTokens"]},
                ]
            }
        ),
    }
    with Pages(pages, needs={"x-goog-api-key": KEY}) as server:
        found = asyncio.run(models_of(Target("gemini", server.url + "/v1beta", "", api_key=KEY)))
        assert all(KEY not in path for path, _ in server.asked)
    assert found == [UpstreamModel("gemini-x", "Gemini X", 1_048_576), UpstreamModel("gemini-y", "gemini-y")]


def test_a_list_that_never_ends_is_not_read_forever() -> None:
    endless = Page({"models": [{"name": "models/m"}], "nextPageToken": "again"})
    assert len(listed({"/v1/models": endless}, kind="gemini")) == 1


@pytest.mark.parametrize("body", [b"\xff", b"{", b'{"data": 3}', b'{"models": []}', b"[" * 100_000, b""])
def test_rubbish_is_no_list(body: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        listed({"/v1/models": Page(body)})
    assert caught.value.kind is ErrorKind.UPSTREAM


def test_an_id_that_no_table_can_hold_is_left_out() -> None:
    assert listed({"/v1/models": Page({"data": [{"id": "a\0b"}, {"id": ""}, {"id": "good"}]})}) == [
        UpstreamModel("good", "good")
    ]


def test_a_good_connection_says_how_many_models_there_are() -> None:
    with Pages({"/v1/models": Page({"data": [{"id": "m"}]})}, {"authorization": f"Bearer {KEY}"}) as server:
        report = checked(server.url + "/v1")
    assert (report.is_ok, report.sentence) == (True, "The endpoint answers and offers 1 model.")
    assert [model.id for model in report.models] == ["m"]
    assert report.latency_ms is not None


def test_a_list_that_everybody_sees_proves_no_key() -> None:
    with Pages({"/v1/models": Page({"data": [{"id": "m"}]})}) as server:
        assert "does not say whether the key is right" in checked(server.url + "/v1").sentence
        assert "whether the key" not in checked(server.url + "/v1", key="").sentence


def test_a_wrong_key_is_told_from_a_missing_one_and_never_repeated() -> None:
    with Pages({}, {"authorization": "Bearer another"}) as server:
        wrong, missing = checked(server.url + "/v1"), checked(server.url + "/v1", key="")
    assert wrong.sentence == "The service does not accept the key."
    assert missing.sentence == "The service wants a key, and none is set."
    assert KEY not in repr(wrong)


def test_geminis_400_for_a_wrong_key_is_a_wrong_key() -> None:
    error = {"error": {"code": 400, "message": "API key not valid.", "details": [{"reason": "API_KEY_INVALID"}]}}
    with Pages({"/v1beta/models": Page(error, 400)}) as server:
        assert checked(server.url + "/v1beta", "gemini").sentence == "The service does not accept the key."


@pytest.mark.parametrize("path", ["", "/v1/chat/completions", "/v1/models"])
def test_an_address_that_lacks_its_version_or_says_too_much_is_put_right(path: str) -> None:
    with Pages({"/v1/models": Page({"data": [{"id": "m"}]}), "/models": HTML}) as server:
        report = checked(server.url + path)
    assert not report.is_ok
    assert f"at {server.url}/v1 there are" in report.sentence


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (HTML, "A web page answers at this address"),
        (Page(HTML.body, 404, "text/html"), "A web page answers at this address"),
        (Page({}, 404), "There is no list of models at this address (status 404)"),
        (Page({"hello": 1}), "Something answers at this address, but not with a list of models"),
        (Page({}, 429), "has too much to do"),
        (Page({}, 503), "The service fails itself (status 503)"),
        (Page({}, 418), "refused to list its models (status 418)"),
        (Page(b"", 301, headers={"Location": "https://new.example.org/v1/models"}), "https://new.example.org/v1."),
    ],
)
def test_what_else_can_answer_is_said(page: Page, words: str) -> None:
    with Pages({"/v1/models": page}) as server:
        report = checked(server.url + "/v1")
    assert not report.is_ok
    assert words in report.sentence


def test_a_port_where_nothing_listens_is_said() -> None:
    with deaf() as address:
        pass
    assert checked(f"http://{address}/v1").sentence.startswith(f"Nothing listens at {address}.")


def test_a_name_that_does_not_exist_is_said() -> None:
    assert checked("http://no-such-host.invalid/v1").sentence.startswith("There is no host called no-such-host.invalid")


def test_a_service_without_tls_is_said() -> None:
    with Pages({}) as server:
        assert "does not speak TLS" in checked(server.url.replace("http://", "https://") + "/v1").sentence


def test_a_service_that_never_answers_is_said() -> None:
    with deaf() as address:  # takes the connection, and never says how to encrypt it
        assert "did not answer in time" in checked(f"https://{address}/v1").sentence


@pytest.mark.parametrize("address", ["http://", "nonsense", "http://[::1/", "http://127.0.0.1:99999/v1", "ftp://a/b"])
def test_what_is_no_address_is_said(address: str) -> None:
    report = checked(address)
    assert not report.is_ok
    assert "address" in report.sentence


@pytest.mark.parametrize("key", ["sk-with\nline", "schlüssel"])
def test_a_key_that_was_pasted_badly_is_said(key: str) -> None:
    report = checked("http://127.0.0.1:9/v1", key=key)
    assert report.sentence.startswith("The key holds a character that no key can have.")
    assert key not in repr(report)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "http://localhost:9/v1", "http://169.254.169.254/v1"])
def test_an_address_that_the_operator_forbids_is_said(address: str) -> None:
    report = asyncio.run(connection_check(Target("openai", address, "", addresses="forbid")))
    assert "is in a private network" in report.sentence


def test_a_name_that_does_not_exist_is_said_where_addresses_are_checked_too() -> None:
    target = Target("openai", "http://no-such-host.invalid/v1", "", addresses="forbid")
    assert "There is no host called" in asyncio.run(connection_check(target)).sentence
