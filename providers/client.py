"""Asks a model: waits for a place, retries before the first event only, and keeps the time. The one path on which
answers come."""

import asyncio
import itertools
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, fields

import stamina

from providers.adapters.base import (
    WAKING,
    ErrorKind,
    Event,
    Finished,
    FinishReason,
    Message,
    Opened,
    Priority,
    ProviderError,
    Queued,
    ReasoningDelta,
    Sampling,
    Target,
    TextDelta,
    Usage,
)
from providers.adapters.registry import adapter_for
from providers.engines.waking import NotAwake, until_awake
from providers.limits.gate import NoPlace, Ticket
from providers.limits.shared import gate

log = logging.getLogger(__name__)

ATTEMPTS = {Priority.INTERACTIVE: 3, Priority.BATCH: 8}
WAIT_FIRST_SECONDS = 0.3
WAIT_USUAL_MAX_SECONDS = 5.0
# A service that wants us to wait longer than this is not waited for: a person is watching.
WAIT_MAX_SECONDS = {Priority.INTERACTIVE: 10.0, Priority.BATCH: 120.0}
# No model writes that much; without a bound a broken upstream could fill the memory.
ANSWER_MAX_CHARACTERS = 5_000_000
PASSING = frozenset({ErrorKind.CONNECTION, ErrorKind.RATE_LIMIT, ErrorKind.TIMEOUT, ErrorKind.UPSTREAM})
# A rough measure, for English; other languages take more tokens, so only what is clearly too long is refused by it.
CHARACTERS_A_TOKEN = 4
CHARACTERS_A_TOKEN_AT_MOST = 8
# One of the largest that are sent, 1,568 by 1,000 pixels at 750 a token; on other wires it is less or about the same.
# Source: https://docs.anthropic.com/en/docs/build-with-claude/vision
TOKENS_AN_IMAGE = 2_100
# What an answer takes where nobody has limited it.
ANSWER_TOKENS = 512


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
    target: Target,
    messages: Sequence[Message],
    sampling: Sampling | None = None,
    *,
    priority: Priority = Priority.INTERACTIVE,
) -> AsyncGenerator[Event | Queued, None]:
    """Yield the events of one answer: Queued while it waits for its engine to wake or for a place, Opened, and Finished
    last. What `sampling` leaves open comes from the target.

    A failure that may pass is tried again as long as nothing was yielded but places in line. Raises ProviderError; of
    kind `timeout` where one of the target's timeouts ran out, which count from when a place was held.
    """
    if target.system_prompt:
        messages = [Message("system", target.system_prompt), *messages]
    merged = merged_sampling(target.sampling, sampling or Sampling())
    async with aclosing(until_awake(target.engine)) as waking:
        is_waking = False
        async for _ in waking:
            is_waking = True
            yield Queued(WAKING)
    if is_waking:
        yield Queued(0)
    ticket = gate().ticket(target.limits, priority, _tokens_expected(target, messages, merged))
    failures = itertools.count()
    async for attempt in stamina.retry_context(
        on=lambda error: _wait_before_retry(error, target, priority, next(failures)),
        attempts=ATTEMPTS[priority],
        timeout=None,
    ):
        with attempt:
            try:
                async with aclosing(_place(ticket, target.engine)) as places:
                    async for place in places:
                        yield Queued(place)
                until = asyncio.get_running_loop().time() + target.timeouts.total
                stream, opened, event = await _open(target, messages, merged, until, ticket)
            except BaseException:  # to be closed while it waits must not cost the place, either
                await ticket.settle(is_success=False)
                raise
    try:
        characters = 0
        async with aclosing(stream):
            yield opened
            while isinstance(event, TextDelta | ReasoningDelta):
                characters += len(event.text)
                if characters > ANSWER_MAX_CHARACTERS:
                    detail = f"the answer has more than {ANSWER_MAX_CHARACTERS} characters"
                    raise ProviderError(ErrorKind.UPSTREAM, detail)
                yield event
                event = await _next(stream, target, target.timeouts.idle, until)
            if isinstance(event, Finished):  # whoever reads no further than the end must not keep the place
                await ticket.settle(is_success=True, tokens=_tokens_used(event.usage))
            yield event
    except ProviderError as error:
        await _refused(ticket, error)
        raise
    finally:
        await ticket.settle(is_success=False)


async def drain(events: AsyncIterator[Event | Queued]) -> Answer:
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


def merged_sampling(base: Sampling, over: Sampling) -> Sampling:
    """`over`, with what it leaves open from `base`."""
    values = {field.name: getattr(over, field.name) for field in fields(Sampling)}
    return Sampling(**{name: getattr(base, name) if value in (None, ()) else value for name, value in values.items()})


async def _place(ticket: Ticket, engine: str) -> AsyncGenerator[int, None]:
    """Yield the places in line until one is held at an engine that is awake, and 0 in the end where there was a wait.
    The engine may have gone to sleep meanwhile: the place is given back until it wakes."""
    place, is_awake = 0, False
    while not is_awake:
        async with aclosing(ticket.wait()) as places:
            async for place in places:
                yield place
        is_awake = True
        async with aclosing(until_awake(engine)) as waking:
            async for _ in waking:
                place, is_awake = WAKING, False
                await ticket.settle(is_success=False)
                yield place
        if not is_awake:
            ticket.be_patient()
    if place:
        yield 0


async def _open(
    target: Target, messages: Sequence[Message], sampling: Sampling, until: float, ticket: Ticket
) -> tuple[AsyncGenerator[Event, None], Opened, Event]:
    """The stream with its opening and the first event of the answer, which have been taken off it."""
    stream = adapter_for(target.kind).stream(target, messages, sampling)
    until_first = min(until, asyncio.get_running_loop().time() + target.timeouts.first_token)
    opened = Opened()
    try:
        event = await _next(stream, target, target.timeouts.first_token, until_first)
        if isinstance(event, Opened):
            opened = event
            await ticket.opened(opened.headroom)
            event = await _next(stream, target, target.timeouts.first_token, until_first)
        return stream, opened, event
    except BaseException as error:
        await stream.aclose()
        if isinstance(error, ProviderError):
            await _refused(ticket, error)
        raise


async def _refused(ticket: Ticket, error: ProviderError) -> None:
    """Overload is said instead of an answer, or in the middle of one."""
    if error.kind is ErrorKind.RATE_LIMIT:
        await ticket.refused(error.retry_after)


async def _next(stream: AsyncIterator[Event], target: Target, seconds: float, until: float) -> Event:
    try:
        async with asyncio.timeout_at(min(asyncio.get_running_loop().time() + seconds, until)):
            return await anext(stream)
    except TimeoutError as error:
        raise OutOfPatience(ErrorKind.TIMEOUT, f"nothing came for {seconds:g} s, or all in all too late") from error
    except ProviderError as error:
        error.forget(target.api_key)  # some services repeat the key that they refuse
        raise
    except StopAsyncIteration:
        raise ProviderError(ErrorKind.CONNECTION, "the stream ended without an end") from None


def _wait_before_retry(error: Exception, target: Target, priority: Priority, failures: int) -> bool | float:
    """False, or the seconds until another try: as many as the upstream asked for, else twice those after the last of
    `failures` before this one."""
    if (
        not isinstance(error, ProviderError)
        or isinstance(error, OutOfPatience | NoPlace | NotAwake)
        or error.kind not in PASSING
    ):
        return False
    wait = error.retry_after
    if wait is None:
        wait = min(WAIT_FIRST_SECONDS * 2**failures, WAIT_USUAL_MAX_SECONDS) * random.uniform(1, 1.5)
    if wait > WAIT_MAX_SECONDS[priority]:
        return False
    if failures + 1 < ATTEMPTS[priority]:
        log.info("%s at %s: %s, again in %.2f s", target.upstream_id, target.limits.key, error.kind.value, wait)
    return wait


def _tokens_expected(target: Target, messages: Sequence[Message], sampling: Sampling) -> float:
    """About how many tokens question and answer take. Raises ProviderError for what cannot fit into the window."""
    characters = sum(len(message.content) for message in messages)
    if target.context_window and characters / CHARACTERS_A_TOKEN_AT_MOST > target.context_window:
        detail = f"{characters} characters are more than a window of {target.context_window} tokens can hold"
        raise ProviderError(ErrorKind.CONTEXT_LENGTH, detail)
    images = sum(len(message.images) for message in messages)
    return characters / CHARACTERS_A_TOKEN + images * TOKENS_AN_IMAGE + (sampling.max_tokens or ANSWER_TOKENS)


def _tokens_used(usage: Usage) -> float | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return usage.input_tokens + usage.output_tokens
