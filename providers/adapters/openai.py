"""The OpenAI wire: chat completions as a stream. Serves every service that speaks it.

The openai client sends the request and maps statuses to errors; its raw streaming response is decoded here, because
its typed objects cost several times as much a chunk. Source: https://platform.openai.com/docs/api-reference/chat
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import httpx2
import msgspec
import openai

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
from providers.adapters.sse import LineTooLong, sse_data

FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "tool_calls": FinishReason.TOOL,
    "function_call": FinishReason.TOOL,
}
CONTEXT_LENGTH = re.compile(r"context[ _-]?(length|size|window)|too many tokens|exceed_context", re.IGNORECASE)
CONTENT_FILTER = re.compile(r"content[ _-]?(filter|policy)|moderation", re.IGNORECASE)
DETAIL_MAX_CHARACTERS = 2_000


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Chunk)


class OpenAIAdapter:
    """One client, and so one pool of connections, for each service, key and event loop."""

    def __init__(self) -> None:
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str, float], openai.AsyncOpenAI]]
        self._clients = WeakKeyDictionary()

    async def stream(self, target: Target, messages: Sequence[Message], sampling: Sampling) -> AsyncIterator[Event]:
        request = self._client(target).chat.completions.with_streaming_response.create(
            model=target.upstream_id,
            messages=[{"role": message.role, "content": message.content} for message in messages],  # type: ignore[misc]
            stream=True,
            stream_options={"include_usage": True},
            **_sampling(sampling),
        )
        try:
            async with request as response:
                if "text/event-stream" not in response.headers.get("content-type", ""):
                    body = (await response.read())[:DETAIL_MAX_CHARACTERS]
                    raise ProviderError(ErrorKind.UPSTREAM, f"not an event stream: {body.decode(errors='replace')}")
                async for event in events(response.iter_bytes()):
                    yield event
        except openai.APIStatusError as error:
            raise _status_error(error) from error
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            raise ProviderError(ErrorKind.TIMEOUT, repr(error)) from error
        except (openai.APIConnectionError, httpx2.TransportError, httpx2.InvalidURL, httpx2.DecodingError) as error:
            raise ProviderError(ErrorKind.CONNECTION, repr(error.__cause__ or error)) from error
        except openai.OpenAIError as error:
            raise ProviderError(ErrorKind.UPSTREAM, repr(error)) from error

    def _client(self, target: Target) -> openai.AsyncOpenAI:
        clients = self._clients.setdefault(asyncio.get_running_loop(), {})
        key = (target.base_url, target.api_key, target.timeouts.connect)
        if key not in clients:
            # Only connecting is timed here; waiting for answers is the client's affair, which knows what came before.
            timeout = httpx2.Timeout(None, connect=target.timeouts.connect)
            clients[key] = openai.AsyncOpenAI(
                base_url=target.base_url,
                api_key=target.api_key or "none",
                max_retries=0,
                timeout=timeout,
                http_client=httpx2.AsyncClient(
                    timeout=timeout,
                    trust_env=False,
                    limits=httpx2.Limits(max_connections=None, max_keepalive_connections=100),
                ),
            )
        return clients[key]


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Decode the body of a stream; yields one Finished last. Raises ProviderError."""
    reason: FinishReason | None = None
    usage = Usage()
    is_done = is_refusal = False
    try:
        async for data in sse_data(chunks):
            if data == b"[DONE]":
                is_done = True
                break
            chunk = _decode(data)
            if chunk.usage:
                usage = Usage(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
            for choice in chunk.choices or ():
                if delta := choice.delta:
                    if thought := delta.reasoning_content or delta.reasoning:
                        yield ReasoningDelta(thought)
                    if delta.content:
                        yield TextDelta(delta.content)
                    elif delta.refusal:
                        is_refusal = True
                        yield TextDelta(delta.refusal)
                if choice.finish_reason:
                    reason = FINISH_REASONS.get(choice.finish_reason, FinishReason.UNKNOWN)
    except LineTooLong as error:
        raise ProviderError(ErrorKind.UPSTREAM, "a line without an end") from error
    if reason is None and not is_done:
        raise ProviderError(ErrorKind.CONNECTION, "the stream ended before the answer did")
    yield Finished(FinishReason.REFUSAL if is_refusal else reason or FinishReason.UNKNOWN, usage)


def _decode(data: bytes) -> _Chunk:
    try:
        chunk = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProviderError(ErrorKind.UPSTREAM, f"not a chunk: {data[:200]!r}") from error
    if chunk.error:
        raise _stream_error(chunk.error)
    return chunk


def _sampling(sampling: Sampling) -> dict[str, Any]:
    given = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def _stream_error(error: Any) -> ProviderError:
    """An error inside a stream that began with status 200."""
    detail = msgspec.json.encode(error).decode()[:DETAIL_MAX_CHARACTERS]
    code = error.get("code") if isinstance(error, dict) else None
    return ProviderError(_kind(code if isinstance(code, int) else 500, detail), detail)


def _status_error(error: openai.APIStatusError) -> ProviderError:
    detail = error.message[:DETAIL_MAX_CHARACTERS]
    wait = error.response.headers.get("retry-after", "")
    retry_after = float(wait) if re.fullmatch(r"\d+(\.\d+)?", wait) else None
    return ProviderError(_kind(error.status_code, detail), detail, retry_after=retry_after)


def _kind(status: int, detail: str) -> ErrorKind:
    if status in (401, 403):
        return ErrorKind.AUTH
    if status == 429:
        return ErrorKind.RATE_LIMIT
    if status in (408, 504):
        return ErrorKind.TIMEOUT
    if 400 <= status < 500:
        if CONTEXT_LENGTH.search(detail):
            return ErrorKind.CONTEXT_LENGTH
        return ErrorKind.CONTENT_FILTER if CONTENT_FILTER.search(detail) else ErrorKind.BAD_REQUEST
    return ErrorKind.UPSTREAM
