"""The Gemini wire: streamGenerateContent as server-sent events.

Source: https://ai.google.dev/api/generate-content
"""

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

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

FINISH_REASONS = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "SAFETY": FinishReason.CONTENT_FILTER,
    "RECITATION": FinishReason.CONTENT_FILTER,
    "BLOCKLIST": FinishReason.CONTENT_FILTER,
    "PROHIBITED_CONTENT": FinishReason.CONTENT_FILTER,
    "SPII": FinishReason.CONTENT_FILTER,
    "IMAGE_SAFETY": FinishReason.CONTENT_FILTER,
    "MALFORMED_FUNCTION_CALL": FinishReason.TOOL,
}


class _Part(msgspec.Struct):
    text: str | None = None
    thought: bool = False


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Error(msgspec.Struct):
    code: int = 500
    message: str = ""
    status: str = ""


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    error: _Error | None = None


_decoder = msgspec.json.Decoder(_Chunk)


def headers(target: Target) -> dict[str, str]:
    """The key goes into a header and never into the address, which ends up in logs."""
    return {"x-goog-api-key": target.api_key} if target.api_key else {}


class GeminiAdapter:
    async def stream(
        self, target: Target, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[Event, None]:
        path = f"/models/{quote(target.upstream_id.removeprefix('models/'), safe='')}:streamGenerateContent?alt=sse"
        with http.translated():
            response = await http.post_stream(target, path, headers(target), body_of(target, messages, sampling))
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

    The wire has no mark of its end: the answer is whole when a candidate has said why it stopped.
    """
    reason, model, usage = "", "", Usage()
    try:
        async for data in sse_data(chunks):
            chunk = _decode(data)
            model = chunk.model_version or model
            if chunk.usage_metadata:
                usage = _usage(chunk.usage_metadata)
            for candidate in chunk.candidates or ():
                for event in _parts(candidate):
                    yield event
                reason = candidate.finish_reason or reason
    except httpx2.TransportError:
        if not reason:
            raise  # else the answer is whole
    if not reason:
        raise ProviderError(ErrorKind.CONNECTION, "the stream ended before the answer did")
    yield Finished(FINISH_REASONS.get(reason, FinishReason.UNKNOWN), usage, model)


def _parts(candidate: _Candidate) -> Iterator[Event]:
    for part in (candidate.content and candidate.content.parts) or ():
        if part.text:
            yield ReasoningDelta(part.text) if part.thought else TextDelta(part.text)


def _usage(used: _Usage) -> Usage:
    """The wire counts thoughts apart from the answer; they are paid as output."""
    written = used.candidates_token_count
    thoughts = used.thoughts_token_count
    output = None if written is None and thoughts is None else (written or 0) + (thoughts or 0)
    return Usage(used.prompt_token_count, output, thoughts, used.cached_content_token_count)


def _decode(data: bytes) -> _Chunk:
    """Raises ProviderError for what is no chunk, an error in midstream, and a prompt that was refused."""
    try:
        chunk = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        chunk = lenient.decoded(data, _Chunk, droppable=("usageMetadata", "modelVersion"))
    if chunk.error:
        detail = f"{chunk.error.status}: {chunk.error.message}"[: http.DETAIL_MAX_CHARACTERS]
        raise ProviderError(
            http.kind_of(chunk.error.code, detail),
            detail,
            retry_after=http.retry_after({}, data.decode(errors="replace")),
        )
    if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
        raise ProviderError(ErrorKind.CONTENT_FILTER, f"prompt refused: {chunk.prompt_feedback.block_reason}")
    return chunk


def body_of(target: Target, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
    """The request. Thoughts are asked for where the model's quirks say so, as `generationConfig.thinkingConfig`."""
    quirks = target.quirks
    optional = {
        "temperature": ("temperature", sampling.temperature),
        "top_p": ("topP", sampling.top_p),
        "max_tokens": ("maxOutputTokens", sampling.max_tokens),
        "seed": ("seed", sampling.seed),
        "stop": ("stopSequences", list(sampling.stop) or None),
    }
    config = {
        theirs: value
        for ours, (theirs, value) in optional.items()
        if value is not None and ours not in quirks.unsupported
    }
    extra = dict(quirks.extra_body)
    config |= extra.pop("generationConfig", {})
    system = [message.content for message in messages if message.role == "system"]
    return {
        "contents": [_content(message) for message in messages if message.role != "system"],
        **({"systemInstruction": {"parts": [{"text": "\n\n".join(system)}]}} if system else {}),
        **({"generationConfig": config} if config else {}),
        **extra,
    }


def _content(message: Message) -> dict[str, Any]:
    pictures = [
        {"inlineData": {"mimeType": image.media_type, "data": base64.b64encode(image.data).decode()}}
        for image in message.images
    ]
    role = "model" if message.role == "assistant" else "user"
    return {"role": role, "parts": [*pictures, {"text": message.content}]}
