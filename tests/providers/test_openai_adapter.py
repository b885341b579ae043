"""The OpenAI wire, against an upstream on a real socket that does everything wrong that upstreams do."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.adapters.base import (
    ErrorKind,
    Event,
    Finished,
    FinishReason,
    Message,
    ProviderError,
    ReasoningDelta,
    Sampling,
    Target,
    TextDelta,
    Usage,
)
from providers.adapters.openai import OpenAIAdapter, events
from providers.adapters.sse import EVENT_MAX_BYTES, EventTooLong, sse_data
from tests.fakes import scripts
from tests.fakes.upstream import SECRETS, Upstream
from tests.waiting import until

PROMPT = [Message("user", "Why is the sky blue?")]


async def heard(
    upstream: Upstream,
    model: str,
    messages: Sequence[Message] = PROMPT,
    sampling: Sampling | None = None,
    adapter: OpenAIAdapter | None = None,
) -> list[Event]:
    target = Target("openai", upstream.url, model, api_key="very-secret")
    stream = (adapter or OpenAIAdapter()).stream(target, messages, sampling or Sampling())
    return [event async for event in stream]


def text_of(found: list[Event]) -> str:
    return "".join(event.text for event in found if isinstance(event, TextDelta))


async def pieces(*data: bytes) -> AsyncIterator[bytes]:
    for piece in data:
        yield piece


async def decoded(*data: bytes) -> list[Event]:
    return [event async for event in events(pieces(*data))]


@pytest.mark.parametrize(
    ("model", "text", "reason"),
    [
        ("steady", scripts.STEADY, FinishReason.STOP),
        ("other", scripts.OTHER, FinishReason.STOP),
        ("bytes", scripts.BYTES, FinishReason.STOP),
        ("hostile", scripts.HOSTILE, FinishReason.STOP),
        ("no-finish", scripts.PLAIN, FinishReason.UNKNOWN),
        ("dies-after-finish", scripts.PLAIN, FinishReason.STOP),
        ("keepalive", "One two", FinishReason.LENGTH),
        ("empty", "", FinishReason.STOP),
    ],
)
async def test_an_answer_comes_through_whole(upstream: Upstream, model: str, text: str, reason: FinishReason) -> None:
    *deltas, last = await heard(upstream, model)
    assert text_of(deltas) == text
    assert isinstance(last, Finished)
    assert last.reason is reason
    assert not any(isinstance(event, Finished) for event in deltas)


async def test_tokens_are_counted_by_the_upstream(upstream: Upstream) -> None:
    found = await heard(upstream, "keepalive")
    assert found[-1] == Finished(FinishReason.LENGTH, Usage(input_tokens=3, output_tokens=2))


async def test_reasoning_comes_apart_from_the_text(upstream: Upstream) -> None:
    found = await heard(upstream, "thinker")
    reasoning = "".join(event.text for event in found if isinstance(event, ReasoningDelta))
    assert reasoning == "Let me think. Blue light is scattered more."
    assert text_of(found) == scripts.PLAIN


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("refuses-401", ErrorKind.AUTH),
        ("missing-404", ErrorKind.BAD_REQUEST),
        ("unheard-of", ErrorKind.BAD_REQUEST),
        ("always-429", ErrorKind.RATE_LIMIT),
        ("broken-500", ErrorKind.UPSTREAM),
        ("too-long-400", ErrorKind.CONTEXT_LENGTH),
        ("filtered-400", ErrorKind.CONTENT_FILTER),
        ("html", ErrorKind.UPSTREAM),
        ("rubbish", ErrorKind.UPSTREAM),
        ("error-in-stream", ErrorKind.UPSTREAM),
        ("dies", ErrorKind.CONNECTION),
        ("cut", ErrorKind.CONNECTION),
    ],
)
async def test_every_failure_has_a_kind(upstream: Upstream, model: str, kind: ErrorKind) -> None:
    with pytest.raises(ProviderError) as caught:
        await heard(upstream, model)
    assert caught.value.kind is kind
    if model not in ("dies", "cut"):  # there the upstream said nothing
        assert SECRETS[0] in caught.value.detail


async def test_an_upstream_says_how_long_to_wait(upstream: Upstream) -> None:
    with pytest.raises(ProviderError) as caught:
        await heard(upstream, "always-429")
    assert caught.value.retry_after == 0.05


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("409 Conflict", ErrorKind.RATE_LIMIT),
        ("408 Request Timeout", ErrorKind.TIMEOUT),
        ("504 Slow", ErrorKind.TIMEOUT),
    ],
)
async def test_what_may_pass_is_told_from_what_was_wrong(status: str, kind: ErrorKind) -> None:
    with Upstream({"passing": scripts.Failure(status)}) as upstream, pytest.raises(ProviderError) as caught:
        await heard(upstream, "passing")
    assert caught.value.kind is kind


@pytest.mark.parametrize("key", ["very-secret\nX: y", "very-sécret", "very-secret\0"])
async def test_a_key_that_no_header_can_carry_is_not_repeated(upstream: Upstream, key: str) -> None:
    target = Target("openai", upstream.url, "steady", api_key=key)
    with pytest.raises(ProviderError) as caught:
        [event async for event in OpenAIAdapter().stream(target, PROMPT, Sampling())]
    assert caught.value.kind is ErrorKind.AUTH
    assert "cret" not in repr(caught.value)


async def test_half_a_surrogate_pair_is_a_bad_request(upstream: Upstream) -> None:
    with pytest.raises(ProviderError) as caught:
        await heard(upstream, "echo", [Message("user", "a\ud800b")])
    assert caught.value.kind is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://127.0.0.1:99999/v1", "nonsense", "ftp://127.0.0.1"])
async def test_an_address_where_nobody_answers_is_a_connection_error(url: str) -> None:
    with pytest.raises(ProviderError) as caught:
        [event async for event in OpenAIAdapter().stream(Target("openai", url, "steady"), PROMPT, Sampling())]
    assert caught.value.kind is ErrorKind.CONNECTION


async def test_the_request_says_what_was_asked_and_nothing_else(upstream: Upstream) -> None:
    sampling = Sampling(temperature=0.0, top_p=0.5, max_tokens=7, seed=1, stop=("END",))
    found = await heard(upstream, "echo", [Message("system", "Be brief."), *PROMPT], sampling)
    assert json.loads(text_of(found)) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why is the sky blue?"},
    ]
    asked = upstream.asked("echo")[-1]
    assert asked.sampling == {"temperature": 0.0, "top_p": 0.5, "max_tokens": 7, "seed": 1, "stop": ["END"]}
    assert asked.headers["authorization"] == "Bearer very-secret"
    await heard(upstream, "echo")
    assert upstream.asked("echo")[-1].sampling == {}


async def test_one_connection_serves_one_answer_after_another(upstream: Upstream) -> None:
    adapter = OpenAIAdapter()
    before = upstream.connected
    for model in ("keepalive", "no-finish", "steady", "always-429", "empty"):
        try:
            await heard(upstream, model, adapter=adapter)
        except ProviderError:
            assert model == "always-429"
    assert upstream.connected - before == 1


@pytest.mark.parametrize("model", ["slow", "silent", "stall-before", "stall-after"])
async def test_a_stream_that_is_given_up_closes_its_connection(model: str) -> None:
    with Upstream() as upstream:
        task = asyncio.create_task(heard(upstream, model))
        await until(lambda: bool(upstream.requests))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not upstream.connections)


# --- However the bytes are cut ---


def whole(text: str, *, line_end: str = "\n") -> bytes:
    request = scripts.Request("m", [], {}, 0, {})
    frames = [scripts.chunk(request, {"content": token}) for token in scripts.tokens(text)]
    lines = [f"data: {json.dumps(frame, ensure_ascii=False)}\n\n" for frame in frames]
    end = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n: bye\n\ndata: [DONE]\n\n'
    return (": hello\n\n" + "".join(lines) + end).replace("\n", line_end).encode()


def together(found: list[Event]) -> list[Event]:
    """Text that comes in one piece is one event, so pieces that follow each other are put together."""
    joined: list[Event] = []
    for event in found:
        if isinstance(event, TextDelta) and joined and isinstance(joined[-1], TextDelta):
            joined[-1] = TextDelta(joined[-1].text + event.text)
        else:
            joined.append(event)
    return joined


@given(
    text=st.text(st.characters(codec="utf-8"), max_size=60),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 4000), max_size=60),
)
async def test_any_cutting_gives_the_same_events(text: str, line_end: str, cuts: list[int]) -> None:
    body = whole(text, line_end=line_end)
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    cut = [body[a:b] for a, b in pairwise(places)]
    found = await decoded(*cut)
    assert together(found) == together(await decoded(body))
    assert text_of(found) == "".join(scripts.tokens(text))
    assert isinstance(found[-1], Finished)
    assert found[-1].reason is FinishReason.STOP


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
async def test_byte_by_byte_gives_the_same_events(line_end: str) -> None:
    body = whole(scripts.BYTES, line_end=line_end)
    assert together(await decoded(*(body[i : i + 1] for i in range(len(body))))) == together(await decoded(body))


async def test_data_in_several_lines_is_one_event() -> None:
    assert [data async for data in sse_data(pieces(b"data: a\ndata:b\nid: 3\n\n"))] == [b"a\nb"]


async def test_the_last_event_needs_no_empty_line() -> None:
    assert [data async for data in sse_data(pieces(b"data: a\n\ndata: [DO", b"NE]"))] == [b"a", b"[DONE]"]


async def test_an_event_without_an_end_is_refused() -> None:
    with pytest.raises(EventTooLong):
        [data async for data in sse_data(pieces(b"data: ", *[b"x" * 1_000_000] * 9))]
    with pytest.raises(EventTooLong):
        [data async for data in sse_data(pieces(*[b"data: " + b"x" * 1_000_000 + b"\n"] * 9))]
    assert EVENT_MAX_BYTES < 9_000_000


@pytest.mark.parametrize(
    "data", [b"[1]", b"3", b'{"choices": 3}', b"{", b"\xff", b'{"choices":[{"delta":{"content":3}}]}', b"[" * 5000]
)
async def test_what_is_no_chunk_is_an_upstream_error(data: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        await decoded(b"data: " + data + b"\n\n")
    assert caught.value.kind is ErrorKind.UPSTREAM


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "slow down"}, ErrorKind.RATE_LIMIT),
        ({"code": "401"}, ErrorKind.AUTH),
        ({"code": "overloaded"}, ErrorKind.RATE_LIMIT),
        ("it broke", ErrorKind.UPSTREAM),
        ({"code": 400, "message": "maximum context length is 4096"}, ErrorKind.CONTEXT_LENGTH),
    ],
)
async def test_an_error_inside_a_stream_has_a_kind(error: object, kind: ErrorKind) -> None:
    with pytest.raises(ProviderError) as caught:
        await decoded(b"data: " + json.dumps({"error": error}).encode() + b"\n\n")
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.CONTENT_FILTER),
        ("tool_calls", FinishReason.TOOL),
        ("eos", FinishReason.STOP),
        ("abandoned", FinishReason.UNKNOWN),
    ],
)
async def test_finish_reasons_have_one_vocabulary(reason: str, expected: FinishReason) -> None:
    body = json.dumps({"choices": [{"delta": {"content": "x"}, "finish_reason": reason}]}).encode()
    assert (await decoded(b"data: " + body + b"\n\n"))[-1] == Finished(expected)


async def test_a_refusal_is_text_and_a_reason() -> None:
    found = await decoded(b'data: {"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}]}\n\n')
    assert found == [TextDelta("No."), Finished(FinishReason.REFUSAL)]
