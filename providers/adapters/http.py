"""What all wires share about HTTP: one pool of connections, and what statuses, headers and broken connections mean."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import msgspec

from common.aio import PerLoop
from providers.adapters.base import AddressRule, ErrorKind, Headroom, ProviderError, Target
from providers.adapters.connections import Connections
from providers.adapters.sse import EventTooLong

CONTEXT_LENGTH = re.compile(
    r"context[ _-]?(length|size|window)|too many tokens|exceed_context|prompt is too long|input token count", re.I
)
CONTENT_FILTER = re.compile(r"content[ _-]?(filter|policy|management)|moderation|blocked by .{0,20}safety", re.I)
# What Gemini, NVIDIA and others say with a 503 where more at once is too much; without such words it is a fault.
TOO_MUCH = re.compile(r"overload|capacity|too many|resource ?exhausted|busy", re.I)
WRONG_KEY = re.compile(r"api[ _]key[ _](not valid|invalid|expired)", re.I)  # Gemini says so with a 400
# OpenAI's spelling of a time span, such as 6m0s or 20ms.
SPAN = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
DETAIL_MAX_CHARACTERS = 2_000
BEGINNING_MAX_BYTES = 16_000  # Gemini says how long to wait after several thousand others
USE_UP_SECONDS = 0.05
OVERLOADED = 529  # Anthropic's own status

_clients: PerLoop[dict[tuple[float, AddressRule], httpx2.AsyncClient]] = PerLoop(dict)


def client_for(target: Target) -> httpx2.AsyncClient:
    """The running loop's client, and so its pool of connections. Only connecting is timed by it: waiting for answers
    is the affair of whoever knows what came before."""
    clients = _clients.get()
    key = (target.timeouts.connect, target.addresses)
    if key not in clients:
        clients[key] = new_client(target)
    return clients[key]


def new_client(target: Target) -> httpx2.AsyncClient:
    """A client with a pool of its own, which the caller must close."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(None, connect=target.timeouts.connect),
        trust_env=False,
        transport=Connections(target.addresses),
    )


async def close_clients() -> None:
    """Close the running loop's connections; for a loop that is about to end."""
    clients = _clients.get()
    while clients:
        await clients.popitem()[1].aclose()


async def post_stream(target: Target, path: str, headers: Mapping[str, str], body: Any) -> httpx2.Response:
    """Send `body` as JSON and return the open response, which the caller must close. Raises ProviderError where it is
    not an event stream; call it within `translated`."""
    response = await post(target, path, headers, body)
    try:
        await check_event_stream(response)
    except BaseException:
        await response.aclose()
        raise
    return response


async def post(target: Target, path: str, headers: Mapping[str, str], body: Any) -> httpx2.Response:
    """The same for an answer that may be of any kind. Raises ProviderError for a refusal."""
    check_key(target)
    client = client_for(target)
    request = client.build_request(
        "POST",
        target.base_url.rstrip("/") + path,
        content=msgspec.json.encode(body),
        headers={"content-type": "application/json", "accept": "text/event-stream", **headers}
        | target.quirks.extra_headers,
    )
    response = await client.send(request, stream=True)
    try:
        if response.status_code >= 400:
            raise status_error(response.status_code, await beginning(response), response.headers)
    except BaseException:
        await response.aclose()
        raise
    return response


def check_key(target: Target) -> None:
    """Said here, because the error of whoever writes the header would repeat the key. Raises ProviderError."""
    if not (target.api_key.isascii() and target.api_key.isprintable()):
        raise ProviderError(ErrorKind.AUTH, "the key holds a character that no header can carry")


async def check_event_stream(response: httpx2.Response) -> None:
    """Raises ProviderError for an answer that is none, such as the page of a proxy."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        detail = f"not an event stream: {await beginning(response)}"[:DETAIL_MAX_CHARACTERS]
        raise ProviderError(ErrorKind.UPSTREAM, detail, request_id=request_id(response.headers))


@contextmanager
def translated() -> Iterator[None]:
    """Turns what HTTP and sockets raise into ProviderError."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise ProviderError(ErrorKind.TIMEOUT, repr(error)) from error
    except (httpx2.TransportError, httpx2.InvalidURL, httpx2.DecodingError) as error:
        raise ProviderError(ErrorKind.CONNECTION, repr(error.__cause__ or error)) from error
    except (OverflowError, ExceptionGroup) as error:  # what anyio raises for a port over 65535
        raise ProviderError(ErrorKind.CONNECTION, repr(error)) from error
    except UnicodeEncodeError as error:  # half of a surrogate pair
        raise ProviderError(ErrorKind.BAD_REQUEST, "a message holds a character that UTF-8 cannot carry") from error
    except EventTooLong as error:
        raise ProviderError(ErrorKind.UPSTREAM, "an event without an end") from error


def status_error(status: int, detail: str, headers: Mapping[str, str]) -> ProviderError:
    """What a refusal means."""
    return ProviderError(
        kind_of(status, detail),
        detail[:DETAIL_MAX_CHARACTERS],
        retry_after=retry_after(headers, detail),
        request_id=request_id(headers),
    )


def kind_of(status: int, detail: str) -> ErrorKind:
    """The kind of failure that a status and the words beside it stand for."""
    if status in (401, 403) or (status == 400 and WRONG_KEY.search(detail)):
        return ErrorKind.AUTH
    # 409: somebody else is asking for the same; it passes, as the vendors' own retries say.
    if status in (409, 429, OVERLOADED) or (status == 503 and TOO_MUCH.search(detail)):
        return ErrorKind.RATE_LIMIT
    if status in (408, 504):
        return ErrorKind.TIMEOUT
    if 400 <= status < 500:
        if CONTEXT_LENGTH.search(detail):
            return ErrorKind.CONTEXT_LENGTH
        return ErrorKind.CONTENT_FILTER if CONTENT_FILTER.search(detail) else ErrorKind.BAD_REQUEST
    return ErrorKind.UPSTREAM


def retry_after(headers: Mapping[str, str], detail: str = "") -> float | None:
    """Seconds that the upstream asks us to wait; None where it does not say.

    In its headers as seconds, milliseconds or a date (RFC 9110, section 10.2.3), or as Gemini's RetryInfo in the body.
    """
    milliseconds = headers.get("retry-after-ms", "")
    if re.fullmatch(r"\d+(\.\d+)?", milliseconds):
        return float(milliseconds) / 1000
    said = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", said):
        return float(said)
    with suppress(ValueError, TypeError):
        return max(0.0, (_aware(parsedate_to_datetime(said)) - datetime.now(UTC)).total_seconds())
    if found := re.search(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"', detail):
        return float(found[1])
    return None


def headroom(headers: Mapping[str, str]) -> Headroom:
    """What is left of the upstream's limits, as OpenAI's and Anthropic's headers say it."""
    resets = [
        seconds
        for name in ("requests", "tokens")
        for header in (f"x-ratelimit-reset-{name}", f"anthropic-ratelimit-{name}-reset")
        if (seconds := _span(headers.get(header, ""))) is not None
    ]
    return Headroom(
        requests=_count(headers, "x-ratelimit-remaining-requests", "anthropic-ratelimit-requests-remaining"),
        tokens=_count(headers, "x-ratelimit-remaining-tokens", "anthropic-ratelimit-tokens-remaining"),
        reset=max(resets, default=None),
    )


def request_id(headers: Mapping[str, str]) -> str:
    """The upstream's name of the request, for its support; empty where it gave none."""
    return next((headers[name][:200] for name in ("x-request-id", "request-id", "cf-ray") if headers.get(name)), "")


async def beginning(response: httpx2.Response) -> str:
    """What came instead of a stream; not all of it, since it may have no end."""
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) >= BEGINNING_MAX_BYTES:
            break
    return body[:BEGINNING_MAX_BYTES].decode(errors="replace")


async def use_up(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows the last event, so that the connection can be used again. Not worth a wait, nor an error."""
    with suppress(TimeoutError, httpx2.TransportError):
        async with asyncio.timeout(USE_UP_SECONDS):
            async for _ in chunks:
                pass


def _count(headers: Mapping[str, str], *names: str) -> int | None:
    return next((int(headers[name]) for name in names if headers.get(name, "").isdecimal()), None)


def _span(text: str) -> float | None:
    """Seconds from now: of a time span such as 1m0.5s, or until a time in ISO 8601."""
    if not text:
        return None
    if text.replace(".", "", 1).isdecimal():
        return float(text)
    if found := SPAN.fullmatch(text):
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in found.groups())
        return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    with suppress(ValueError):
        return max(0.0, (_aware(datetime.fromisoformat(text)) - datetime.now(UTC)).total_seconds())
    return None


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
