"""The OpenAI wire: chat completions as a stream. Serves every service that speaks it.

The openai client sends the request and maps statuses to errors; its raw streaming response is decoded here, because
its typed objects cost several times as much a chunk. Source: https://platform.openai.com/docs/api-reference/chat
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from typing import Any, cast

import httpx2
import msgspec
import openai

from common.aio import PerLoop
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
from providers.adapters.sse import EventTooLong, sse_data

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
USE_UP_SECONDS = 0.05


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
        self._clients: PerLoop[dict[tuple[str, str, float], openai.AsyncOpenAI]] = PerLoop(dict)

    async def stream(
        self, target: Target, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[Event, None]:
        if not (target.api_key.isascii() and target.api_key.isprintable()):
            # Said here, because the error of whoever writes the header would repeat the key.
            raise ProviderError(ErrorKind.AUTH, "the key holds a character that no header can carry")
        try:
            async with aclosing(await self._post(target, _body(target, messages, sampling))) as response:
                if "text/event-stream" not in response.headers.get("content-type", ""):
                    raise ProviderError(ErrorKind.UPSTREAM, f"not an event stream: {await _beginning(response)}")
                chunks = response.aiter_bytes()
                async with aclosing(events(chunks)) as found:
                    async for event in found:
                        if isinstance(event, Finished):
                            await _use_up(chunks)
                        yield event
        except openai.APIStatusError as error:
            raise _status_error(error) from error
        except (openai.APITimeoutError, httpx2.TimeoutException) as error:
            raise ProviderError(ErrorKind.TIMEOUT, repr(error)) from error
        except (openai.APIConnectionError, httpx2.TransportError, httpx2.InvalidURL, httpx2.DecodingError) as error:
            raise ProviderError(ErrorKind.CONNECTION, repr(error.__cause__ or error)) from error
        except (OverflowError, ExceptionGroup) as error:  # what anyio raises for a port over 65535
            raise ProviderError(ErrorKind.CONNECTION, repr(error)) from error
        except UnicodeEncodeError as error:  # half of a surrogate pair
            raise ProviderError(ErrorKind.BAD_REQUEST, "a message holds a character that UTF-8 cannot carry") from error
        except openai.OpenAIError as error:
            raise ProviderError(ErrorKind.UPSTREAM, repr(error)) from error

    async def _post(self, target: Target, body: dict[str, Any]) -> httpx2.Response:
        """By the client's plain post: its typed resource takes as long as all the rest of the request."""
        client = self._client(target)
        answer: object = await client.post(
            "/chat/completions", cast_to=httpx2.Response, body=body, stream=True, stream_cls=openai.AsyncStream[object]
        )
        return cast(httpx2.Response, answer)

    def _client(self, target: Target) -> openai.AsyncOpenAI:
        clients = self._clients.get()
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


async def events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Event, None]:
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
    except httpx2.TransportError:
        if reason is None:
            raise  # else the answer is whole, and only the count of its tokens is lost
    except EventTooLong as error:
        raise ProviderError(ErrorKind.UPSTREAM, "an event without an end") from error
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


def _body(target: Target, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
    optional = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
    }
    return {
        "model": target.upstream_id,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        **{name: value for name, value in optional.items() if value is not None},
    }


async def _use_up(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows the last event, so that the connection can be used again. Not worth a wait, nor an error."""
    with suppress(TimeoutError, httpx2.TransportError):
        async with asyncio.timeout(USE_UP_SECONDS):
            async for _ in chunks:
                pass


async def _beginning(response: httpx2.Response) -> str:
    """What came instead of a stream; not all of it, since it may have no end."""
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) >= DETAIL_MAX_CHARACTERS:
            break
    return body[:DETAIL_MAX_CHARACTERS].decode(errors="replace")


def _stream_error(error: Any) -> ProviderError:
    """An error inside a stream that began with status 200."""
    detail = msgspec.json.encode(error).decode()[:DETAIL_MAX_CHARACTERS]
    code = str(error.get("code")) if isinstance(error, dict) else ""
    return ProviderError(_kind(int(code) if re.fullmatch(r"\d{3}", code) else 500, detail), detail)


def _status_error(error: openai.APIStatusError) -> ProviderError:
    detail = error.message[:DETAIL_MAX_CHARACTERS]
    wait = error.response.headers.get("retry-after", "")
    retry_after = float(wait) if re.fullmatch(r"\d+(\.\d+)?", wait) else None
    return ProviderError(_kind(error.status_code, detail), detail, retry_after=retry_after)


def _kind(status: int, detail: str) -> ErrorKind:
    if status in (401, 403):
        return ErrorKind.AUTH
    if status in (409, 429):  # 409: somebody else is asking for the same; it passes, as the client's own retries say
        return ErrorKind.RATE_LIMIT
    if status in (408, 504):
        return ErrorKind.TIMEOUT
    if 400 <= status < 500:
        if CONTEXT_LENGTH.search(detail):
            return ErrorKind.CONTEXT_LENGTH
        return ErrorKind.CONTENT_FILTER if CONTENT_FILTER.search(detail) else ErrorKind.BAD_REQUEST
    return ErrorKind.UPSTREAM
