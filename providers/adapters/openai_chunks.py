"""Decodes what services on the OpenAI wire stream, whichever of its dialects they speak."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import httpx2
import msgspec

from providers.adapters import http, lenient
from providers.adapters.base import (
    ErrorKind,
    Event,
    Finished,
    FinishReason,
    ProviderError,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from providers.adapters.sse import sse_together

FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.REFUSAL,
    "tool_calls": FinishReason.TOOL,
    "function_call": FinishReason.TOOL,
}


class _Part(msgspec.Struct):
    """A piece of content as Mistral sends it (`thinking` holds parts again), or of OpenRouter's reasoning_details."""

    type: str = ""
    text: str | None = None
    summary: str | None = None
    thinking: "list[_Part] | str | None" = None


class _Delta(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[_Part] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None  # instead of a delta, in an answer that was not streamed
    finish_reason: str | None = None


class _OutputDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class _InputDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    completion_tokens_details: _OutputDetails | None = None
    prompt_tokens_details: _InputDetails | None = None


class _Groq(msgspec.Struct):
    usage: _Usage | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    x_groq: _Groq | None = None
    model: str | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Chunk)


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Event, None]:
    """Decode the body of a stream; yields one Finished last. Text that arrived in one piece is one event. Raises
    ProviderError."""
    end = _End()
    try:
        async for piece in sse_together(chunks):
            for event in _events(piece, end):
                yield event
            if end.is_done:
                break
    except httpx2.TransportError:
        if not end.reason:
            raise  # else the answer is whole, and only the count of its tokens is lost
    if not end.reason and not end.is_done:
        raise ProviderError(ErrorKind.CONNECTION, "the stream ended before the answer did")
    yield end.finished()


def _events(piece: list[bytes], end: "_End") -> Iterator[Event]:
    """What one piece of the stream says; text before an error in it is not lost."""
    text: list[str] = []
    try:
        for data in piece:
            if data == b"[DONE]":
                end.is_done = True
                break
            chunk = _decode(data)
            for choice in chunk.choices or ():
                if (delta := choice.delta) is not None:
                    # The two that nearly every chunk is, without a call.
                    if type(delta.content) is str and delta.content:
                        text.append(delta.content)
                    for event in _others(delta, end):
                        if text:
                            yield TextDelta("".join(text))
                            text.clear()
                        yield event
                if choice.finish_reason:
                    end.reason = choice.finish_reason
            if chunk.usage or chunk.x_groq or chunk.error or not end.model:
                end.note(chunk)
    except ProviderError:
        if text:
            yield TextDelta("".join(text))
        raise
    if text:
        yield TextDelta("".join(text))


def whole_answer(body: bytes) -> Iterator[Event]:
    """The events of an answer that came in one piece. Raises ProviderError."""
    end = _End()
    chunk = _decode(body)
    end.note(chunk)
    if not chunk.choices:
        raise ProviderError(ErrorKind.UPSTREAM, f"neither a stream nor an answer: {body[:200]!r}")
    message = chunk.choices[0].message or chunk.choices[0].delta or _Delta()
    yield from _others(message, end)
    if isinstance(message.content, str) and message.content:
        yield TextDelta(message.content)
    end.reason = chunk.choices[0].finish_reason or ""
    yield end.finished()


class _End:
    """What is gathered on the way for the last event."""

    def __init__(self) -> None:
        self.reason = ""
        self.model = ""
        self.usage = Usage()
        self.is_refusal = False
        self.is_done = False

    def note(self, chunk: _Chunk) -> None:
        """Raises ProviderError for an error inside a stream that began with status 200."""
        if chunk.error:
            raise _stream_error(chunk.error)
        self.model = self.model or chunk.model or ""
        if used := chunk.usage or (chunk.x_groq and chunk.x_groq.usage):
            output, given = used.completion_tokens_details, used.prompt_tokens_details
            self.usage = Usage(
                used.prompt_tokens,
                used.completion_tokens,
                output.reasoning_tokens if output else None,
                given.cached_tokens if given else None,
            )

    def finished(self) -> Finished:
        reason = FINISH_REASONS.get(self.reason, FinishReason.UNKNOWN)
        return Finished(FinishReason.REFUSAL if self.is_refusal else reason, self.usage, self.model)


def _others(delta: _Delta, end: _End) -> Iterator[Event]:
    """What a delta holds beside plain text."""
    if thought := delta.reasoning_content or delta.reasoning:
        yield ReasoningDelta(thought)
    elif delta.reasoning_details:
        for part in delta.reasoning_details:
            if thought := part.text or part.summary:
                yield ReasoningDelta(thought)
    if isinstance(delta.content, list):
        yield from _parts(delta.content)
    if delta.refusal and not delta.content:
        end.is_refusal = True
        yield TextDelta(delta.refusal)


def _parts(parts: list[_Part]) -> Iterator[Event]:
    for part in parts:
        if isinstance(part.thinking, list):
            thought = "".join(inner.text or "" for inner in part.thinking)
        else:
            thought = part.thinking or ""
        if thought:
            yield ReasoningDelta(thought)
        if part.text:
            yield TextDelta(part.text)


def _decode(data: bytes) -> _Chunk:
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return lenient.decoded(data, _Chunk, droppable=("usage", "x_groq", "model"))


def _stream_error(error: Any) -> ProviderError:
    try:
        detail = msgspec.json.encode(error).decode()
    except (TypeError, UnicodeEncodeError):
        detail = repr(error)
    code = str(error.get("code")) if isinstance(error, dict) else ""
    if re.fullmatch(r"\d{3}", code):
        status = int(code)
    elif re.search(r"rate.?limit|overloaded|too many requests", detail, re.I):
        status = 429
    else:
        status = 400 if http.CONTEXT_LENGTH.search(detail) or http.CONTENT_FILTER.search(detail) else 500
    return ProviderError(
        http.kind_of(status, detail), detail[: http.DETAIL_MAX_CHARACTERS], retry_after=http.retry_after({}, detail)
    )
