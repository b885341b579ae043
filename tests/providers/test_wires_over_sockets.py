"""Every wire, asked on real sockets: the same script gives the same answer, and the same failure the same kind."""

import asyncio
import json
from collections.abc import Sequence

import pytest

from providers.adapters.base import (
    ErrorKind,
    Event,
    Finished,
    FinishReason,
    Headroom,
    Image,
    Message,
    Opened,
    ProviderError,
    ReasoningDelta,
    Sampling,
    Target,
    TextDelta,
)
from providers.adapters.registry import ADAPTERS
from tests.fakes import scripts
from tests.fakes.upstream import SECRETS, Upstream
from tests.waiting import until

KEY = "sk-very-secret"
PROMPT = [Message("user", "Why is the sky blue?")]
WIRES = list(ADAPTERS)


def heard(upstream: Upstream, wire: str, model: str, messages: Sequence[Message] = PROMPT) -> list[Event]:
    target = Target(wire, upstream.url_of(wire), model, api_key=KEY)

    async def listen() -> list[Event]:
        return [event async for event in ADAPTERS[wire].stream(target, messages, Sampling())]

    return asyncio.run(listen())


def failure(upstream: Upstream, wire: str, model: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        heard(upstream, wire, model)
    return caught.value


def text_of(found: list[Event]) -> str:
    return "".join(event.text for event in found if isinstance(event, TextDelta))


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("model", "text"), [("steady", scripts.STEADY), ("bytes", scripts.BYTES), ("empty", "")])
def test_the_same_script_gives_the_same_answer(upstream: Upstream, wire: str, model: str, text: str) -> None:
    opened, *deltas, finished = heard(upstream, wire, model)
    assert isinstance(opened, Opened)
    assert text_of(deltas) == text
    assert len(deltas) <= len(scripts.tokens(text))
    assert isinstance(finished, Finished)
    assert finished.reason is FinishReason.STOP
    assert (finished.usage.input_tokens, finished.usage.output_tokens) == (9, len(scripts.tokens(text)))
    assert finished.upstream_model == f"{SECRETS[0]}/{model}"


@pytest.mark.parametrize("wire", WIRES)
def test_what_is_thought_comes_apart_from_what_is_said(upstream: Upstream, wire: str) -> None:
    found = heard(upstream, wire, "thinker")
    reasoning = "".join(event.text for event in found if isinstance(event, ReasoningDelta))
    assert (reasoning, text_of(found)) == ("Let me think. Blue light is scattered more.", scripts.PLAIN)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("model", "kind", "retry_after"),
    [
        ("refuses-401", ErrorKind.AUTH, None),
        ("missing-404", ErrorKind.BAD_REQUEST, None),
        ("always-429", ErrorKind.RATE_LIMIT, 0.05),
        ("overloaded-529", ErrorKind.RATE_LIMIT, 0.05),
        ("broken-500", ErrorKind.UPSTREAM, None),
        ("too-long-400", ErrorKind.CONTEXT_LENGTH, None),
        ("filtered-400", ErrorKind.CONTENT_FILTER, None),
        ("html", ErrorKind.UPSTREAM, None),
        ("rubbish", ErrorKind.UPSTREAM, None),
        ("cut", ErrorKind.CONNECTION, None),
        ("dies", ErrorKind.CONNECTION, None),
    ],
)
def test_the_same_failure_has_the_same_kind(
    upstream: Upstream, wire: str, model: str, kind: ErrorKind, retry_after: float | None
) -> None:
    error = failure(upstream, wire, model)
    assert (error.kind, error.retry_after) == (kind, retry_after)
    assert KEY not in f"{error!r} {error} {error.detail} {error.__cause__!r}"


@pytest.mark.parametrize(
    ("wire", "kind"),
    [("openai", ErrorKind.UPSTREAM), ("anthropic", ErrorKind.RATE_LIMIT), ("gemini", ErrorKind.UPSTREAM)],
)
def test_a_failure_in_midstream_ends_the_stream(upstream: Upstream, wire: str, kind: ErrorKind) -> None:
    assert failure(upstream, wire, "error-in-stream").kind is kind


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_that_is_whole_survives_a_broken_connection(upstream: Upstream, wire: str) -> None:
    assert text_of(heard(upstream, wire, "dies-after-finish")) == scripts.PLAIN


@pytest.mark.parametrize("wire", WIRES)
def test_pictures_and_the_system_prompt_arrive(upstream: Upstream, wire: str) -> None:
    messages = [
        Message("system", "Be brief."),
        Message("user", "Hi"),
        Message("assistant", "Hello"),
        Message("user", "What is it?", (Image("image/png", b"\x89PNG"),)),
    ]
    got = json.loads(text_of(heard(upstream, wire, "echo", messages)))
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    assert [message["role"] for message in got] == ["system", "user", "assistant", "user"]
    assert got[0]["content"] == "Be brief."
    assert got[3]["content"] == [picture, {"type": "text", "text": "What is it?"}]


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_that_is_closed_hangs_up(wire: str) -> None:
    async def leave(upstream: Upstream) -> None:
        target = Target(wire, upstream.url_of(wire), "slow", api_key=KEY)
        stream = ADAPTERS[wire].stream(target, PROMPT, Sampling())
        assert isinstance(await anext(stream), Opened)
        assert isinstance(await anext(stream), TextDelta)
        assert upstream.connections == 1
        await stream.aclose()
        await until(lambda: upstream.connections == 0)

    with Upstream() as upstream:
        asyncio.run(leave(upstream))


@pytest.mark.parametrize("wire", WIRES)
def test_a_connection_is_used_again(wire: str) -> None:
    async def ask_twice(upstream: Upstream) -> None:
        target = Target(wire, upstream.url_of(wire), "other", api_key=KEY)
        for _ in range(2):
            async for _event in ADAPTERS[wire].stream(target, PROMPT, Sampling()):
                pass

    with Upstream() as upstream:
        asyncio.run(ask_twice(upstream))
        assert upstream.connected == 1


def test_anthropic_says_what_is_left_and_names_its_requests(upstream: Upstream) -> None:
    opened = heard(upstream, "anthropic", "steady")[0]
    assert opened == Opened("req_1", Headroom(49, 9000, None))
    assert failure(upstream, "anthropic", "always-429").request_id == "req_1"


@pytest.mark.parametrize("wire", WIRES)
def test_no_key_is_in_an_address(wire: str) -> None:
    target = Target(wire, "http://127.0.0.1:9/v1", "m", api_key=KEY)
    assert KEY not in repr(target)
    with Upstream() as upstream:
        heard(upstream, wire, "steady")
        [request] = upstream.requests
    assert any(KEY in value for value in request.headers.values())
    assert request.path.startswith("/v1")
    assert KEY not in request.path
