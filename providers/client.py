"""Asks a model: retries before the first event only, and keeps the time. The one path on which answers come."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, fields

import stamina

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
from providers.adapters.registry import adapter_for

ATTEMPTS = 3
WAIT_FIRST_SECONDS = 0.3
# A service that wants us to wait longer than this is not waited for: a person is watching.
WAIT_MAX_SECONDS = 10.0
# No model writes that much; without a bound a broken upstream could fill the memory.
ANSWER_MAX_CHARACTERS = 5_000_000
PASSING = frozenset({ErrorKind.CONNECTION, ErrorKind.RATE_LIMIT, ErrorKind.TIMEOUT, ErrorKind.UPSTREAM})


class OutOfPatience(ProviderError):
    """One of our own timeouts ran out. Not tried again: a person would wait as long once more, and a service that is
    busy would get the same work twice."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: a drained stream."""

    text: str
    reasoning: str
    reason: FinishReason
    usage: Usage


async def stream_answer(
    target: Target, messages: Sequence[Message], sampling: Sampling | None = None
) -> AsyncGenerator[Event, None]:
    """Yield the events of one answer, Finished last. What `sampling` leaves open comes from the target.

    A failure that may pass is tried again as long as nothing was yielded. Raises ProviderError; of kind `timeout`
    where one of the target's timeouts ran out.
    """
    if target.system_prompt:
        messages = [Message("system", target.system_prompt), *messages]
    merged = _merged(target.sampling, sampling or Sampling())
    until = asyncio.get_running_loop().time() + target.timeouts.total
    async for attempt in stamina.retry_context(
        on=_wait_before_retry, attempts=ATTEMPTS, timeout=None, wait_initial=WAIT_FIRST_SECONDS, wait_jitter=0.2
    ):
        with attempt:
            stream, event = await _open(target, messages, merged, until)
    characters = 0
    async with aclosing(stream):
        while not isinstance(event, Finished):
            characters += len(event.text)
            if characters > ANSWER_MAX_CHARACTERS:
                raise ProviderError(ErrorKind.UPSTREAM, f"the answer has more than {ANSWER_MAX_CHARACTERS} characters")
            yield event
            event = await _next(stream, target.timeouts.idle, until)
        yield event


async def drain(events: AsyncIterator[Event]) -> Answer:
    """Wait for the whole answer."""
    text: list[str] = []
    reasoning: list[str] = []
    async for event in events:
        match event:
            case TextDelta():
                text.append(event.text)
            case ReasoningDelta():
                reasoning.append(event.text)
            case Finished():
                return Answer("".join(text), "".join(reasoning), event.reason, event.usage)
    raise ProviderError(ErrorKind.CONNECTION, "the stream ended without an end")


async def _open(
    target: Target, messages: Sequence[Message], sampling: Sampling, until: float
) -> tuple[AsyncGenerator[Event, None], Event]:
    """The stream and its first event, which has been taken off it."""
    stream = adapter_for(target.kind).stream(target, messages, sampling)
    try:
        return stream, await _next(stream, target.timeouts.first_token, until)
    except BaseException:
        await stream.aclose()
        raise


async def _next(stream: AsyncIterator[Event], seconds: float, until: float) -> Event:
    try:
        async with asyncio.timeout_at(min(asyncio.get_running_loop().time() + seconds, until)):
            return await anext(stream)
    except TimeoutError as error:
        raise OutOfPatience(ErrorKind.TIMEOUT, f"nothing came for {seconds:g} s, or all in all too late") from error
    except StopAsyncIteration:
        raise ProviderError(ErrorKind.CONNECTION, "the stream ended without an end") from None


def _wait_before_retry(error: Exception) -> bool | float:
    """Whether to try again: False, True after the usual wait, or the seconds that the upstream asked for."""
    if not isinstance(error, ProviderError) or isinstance(error, OutOfPatience) or error.kind not in PASSING:
        return False
    if error.retry_after is None:
        return True
    return error.retry_after if error.retry_after <= WAIT_MAX_SECONDS else False


def _merged(base: Sampling, over: Sampling) -> Sampling:
    """`over`, with what it leaves open from `base`."""
    values = {field.name: getattr(over, field.name) for field in fields(Sampling)}
    return Sampling(**{name: getattr(base, name) if value in (None, ()) else value for name, value in values.items()})
