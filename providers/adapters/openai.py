"""The OpenAI wire: chat completions as a stream. Serves every service that speaks it; how they differ is `Quirks`.

What comes is decoded in `openai_chunks`.
Source: https://platform.openai.com/docs/api-reference/chat
"""

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import httpx2

from providers.adapters import http
from providers.adapters.base import (
    ErrorKind,
    Event,
    Finished,
    Message,
    Opened,
    ProviderError,
    Quirks,
    Sampling,
    Target,
)
from providers.adapters.openai_chunks import events, whole_answer

WHOLE_MAX_BYTES = 10_000_000


class OpenAIAdapter:
    async def stream(
        self, target: Target, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[Event, None]:
        headers = {"authorization": f"Bearer {target.api_key or 'none'}"}
        with http.translated():
            response = await http.post(target, "/chat/completions", headers, body_of(target, messages, sampling))
            async with aclosing(response), aclosing(_events(response)) as found:
                async for event in found:
                    yield event


async def _events(response: httpx2.Response) -> AsyncGenerator[Event, None]:
    yield Opened(http.request_id(response.headers), http.headroom(response.headers))
    if response.headers.get("content-type", "").startswith("application/json"):
        # Some servers answer at once, whatever was asked.
        for event in whole_answer(await _read(response)):
            yield event
        return
    await http.check_event_stream(response)
    chunks: AsyncIterator[bytes] = response.aiter_bytes()
    async with aclosing(events(chunks)) as found:
        async for event in found:
            if isinstance(event, Finished):
                await http.use_up(chunks)
            yield event


async def _read(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > WHOLE_MAX_BYTES:
            raise ProviderError(ErrorKind.UPSTREAM, f"an answer of more than {WHOLE_MAX_BYTES} bytes")
    return bytes(body)


def body_of(target: Target, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
    """The request as this service wants it."""
    quirks = target.quirks
    optional = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
    }
    wanted = {name: value for name, value in optional.items() if value is not None and name not in quirks.unsupported}
    if "max_tokens" in wanted:
        wanted[quirks.max_tokens_field] = wanted.pop("max_tokens")
    return {
        "model": target.upstream_id,
        "messages": [_message(message, quirks) for message in _with_system_role(messages, quirks)],
        "stream": True,
        **({"stream_options": {"include_usage": True}} if quirks.asks_usage else {}),
        **wanted,
        **quirks.extra_body,
    }


def _with_system_role(messages: Sequence[Message], quirks: Quirks) -> Sequence[Message]:
    """Where a chat template has no system message, it becomes the beginning of the first message of the user."""
    if quirks.system_role != "user":
        return messages
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    if not system or not rest:
        return rest or messages
    return [Message(rest[0].role, "\n\n".join([*system, rest[0].content]), rest[0].images), *rest[1:]]


def _message(message: Message, quirks: Quirks) -> dict[str, Any]:
    role = quirks.system_role if message.role == "system" else message.role
    if not message.images:
        return {"role": role, "content": message.content}
    pictures = [
        {
            "type": "image_url",
            "image_url": {"url": f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}"},
        }
        for image in message.images
    ]
    return {"role": role, "content": [*pictures, {"type": "text", "text": message.content}]}
