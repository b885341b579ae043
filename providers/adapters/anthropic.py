"""The Anthropic wire: messages as a stream of typed events.

Source: https://docs.anthropic.com/en/api/messages-streaming
"""

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import httpx2
import msgspec

from providers.adapters import http, lenient
from providers.adapters.base import (
    ErrorKind,
    Event,
    Finished,
    FinishReason,
    Message,
    Opened,
    ProviderError,
    ReasoningDelta,
    Sampling,
    Target,
    TextDelta,
    Usage,
)
from providers.adapters.sse import sse_data

VERSION = "2023-06-01"
# The wire demands a limit. What every current model can write; a model's own setting wins.
MAX_TOKENS = 8_192
FINISH_REASONS = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "pause_turn": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "refusal": FinishReason.REFUSAL,
    "tool_use": FinishReason.TOOL,
}
# The HTTP status that each type of error would have had outside a stream.
ERROR_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": http.OVERLOADED,
}


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    model: str = ""
    usage: _Usage | None = None


class _Delta(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None
    stop_reason: str | None = None


class _Error(msgspec.Struct):
    type: str = ""
    message: str = ""


class _Event(msgspec.Struct):
    type: str = ""
    message: _Message | None = None
    content_block: _Delta | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: _Error | None = None


_decoder = msgspec.json.Decoder(_Event)


def headers(target: Target) -> dict[str, str]:
    """What every request of this wire carries; a service that wants no key gets none."""
    return {"anthropic-version": VERSION} | ({"x-api-key": target.api_key} if target.api_key else {})


class AnthropicAdapter:
    async def stream(
        self, target: Target, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[Event, None]:
        with http.translated():
            body = body_of(target, messages, sampling)
            response = await http.post_stream(target, "/messages", headers(target), body)
            async with aclosing(response):
                yield Opened(http.request_id(response.headers), http.headroom(response.headers))
                chunks: AsyncIterator[bytes] = response.aiter_bytes()
                async with aclosing(events(chunks)) as found:
                    async for event in found:
                        if isinstance(event, Finished):
                            await http.use_up(chunks)
                        yield event


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Event, None]:
    """Decode the body of a stream; yields one Finished last. Raises ProviderError.

    Redacted thinking, signatures and pings say nothing that a person could read, and are passed over.
    """
    reason, model, used, is_stopped = "", "", _Usage(), False
    try:
        async for data in sse_data(chunks):
            event = _decode(data)
            if event.type == "content_block_delta" or event.type == "content_block_start":
                if delta := event.delta or event.content_block:
                    if delta.text:
                        yield TextDelta(delta.text)
                    elif delta.thinking:
                        yield ReasoningDelta(delta.thinking)
            elif event.type == "message_start" and event.message:
                model, used = event.message.model, _later(used, event.message.usage)
            elif event.type == "message_delta":
                used = _later(used, event.usage)
                reason = (event.delta and event.delta.stop_reason) or reason
            elif event.type == "message_stop":
                is_stopped = True
                break
            elif event.error:
                raise _stream_error(event.error)
    except httpx2.TransportError:
        if not reason:
            raise  # else the answer is whole
    if not reason and not is_stopped:
        raise ProviderError(ErrorKind.CONNECTION, "the stream ended before the answer did")
    yield Finished(FINISH_REASONS.get(reason, FinishReason.UNKNOWN), _usage(used), model)


def _later(before: _Usage, now: _Usage | None) -> _Usage:
    """Counts are totals so far: a later one replaces an earlier one."""
    if now is None:
        return before
    return _Usage(
        *(
            b if a is None else a
            for a, b in zip(msgspec.structs.astuple(now), msgspec.structs.astuple(before), strict=True)
        )
    )


def _usage(used: _Usage) -> Usage:
    """What was read from or written to the prompt cache was part of the input, though the wire counts it apart."""
    given = [used.input_tokens, used.cache_creation_input_tokens, used.cache_read_input_tokens]
    total = sum(count or 0 for count in given) if used.input_tokens is not None else None
    return Usage(total, used.output_tokens, cached_tokens=used.cache_read_input_tokens)


def _decode(data: bytes) -> _Event:
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return lenient.decoded(data, _Event, droppable=("usage",))


def _stream_error(error: _Error) -> ProviderError:
    """An error inside a stream that began with status 200."""
    detail = f"{error.type}: {error.message}"[: http.DETAIL_MAX_CHARACTERS]
    return ProviderError(http.kind_of(ERROR_STATUS.get(error.type, 500), detail), detail)


def body_of(target: Target, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
    """The request. This wire knows no seed, and its temperature ends at 1."""
    quirks = target.quirks
    optional = {
        "system": "\n\n".join(message.content for message in messages if message.role == "system") or None,
        "temperature": None if sampling.temperature is None else min(sampling.temperature, 1.0),
        "top_p": sampling.top_p,
        "stop_sequences": [stop for stop in sampling.stop if stop.strip()] or None,
    }
    return {
        "model": target.upstream_id,
        "messages": [_message(message) for message in messages if message.role != "system"],
        "max_tokens": sampling.max_tokens or MAX_TOKENS,
        "stream": True,
        **{name: value for name, value in optional.items() if value is not None and name not in quirks.unsupported},
        **quirks.extra_body,
    }


def _message(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    pictures = [
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": image.media_type,
                "data": base64.b64encode(image.data).decode(),
            },
        }
        for image in message.images
    ]
    return {"role": message.role, "content": [*pictures, {"type": "text", "text": message.content}]}
