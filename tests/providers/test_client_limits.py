"""What asking has to do with limits: who waits is told, every end gives the place back, refusals are learnt from."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import TypeVar
from uuid import uuid4

import pytest

from providers import client
from providers.adapters.base import (
    ErrorKind,
    Event,
    Finished,
    Limits,
    Message,
    Opened,
    Priority,
    ProviderError,
    Queued,
    Sampling,
    Target,
    Timeouts,
)
from providers.client import drain, stream_answer
from providers.limits import gate as gate_module
from providers.limits import policy
from providers.limits.policy import State
from providers.limits.shared import gate
from tests.fakes import scripts
from tests.fakes.upstream import Upstream
from tests.waiting import until

# For a busy machine, and for tests in which a timeout runs out whatever the machine.
PATIENT, IMPATIENT = Timeouts(10, 10, 10, 30), Timeouts(10, 0.5, 0.3, 5)
PROMPT = [Message("user", "Why?")]
T = TypeVar("T")


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "WAIT_FIRST_SECONDS", 0.01)


def target(upstream: Upstream, model: str, *, timeouts: Timeouts = PATIENT, **limits: int) -> Target:
    """At an endpoint of its own."""
    return Target("openai", upstream.url, model, timeouts=timeouts, limits=Limits(uuid4().hex, model, **limits))


async def known(to: Target, look: Callable[[State], T]) -> T:
    return await gate().store.change(to.limits.key, lambda state, now: look(state))


async def streams(to: Target) -> int:
    return await known(to, lambda state: len(state.leases))


async def test_whoever_waits_is_told_their_place_and_when_the_wait_is_over(upstream: Upstream) -> None:
    to = target(upstream, "steady", streams=1)
    first = stream_answer(to, PROMPT)
    assert isinstance(await anext(first), Opened)
    events: list[Event | Queued] = []

    async def wait() -> None:
        async with aclosing(stream_answer(to, PROMPT)) as stream:
            async for event in stream:
                events.append(event)

    waiting = asyncio.create_task(wait())
    await until(lambda: bool(events))
    await first.aclose()
    await waiting
    assert events[:2] == [Queued(1), Queued(0)]
    assert isinstance(events[2], Opened)
    assert isinstance(events[-1], Finished)


@pytest.mark.parametrize("model", ["steady", "dies", "silent", "stall-after", "always-429", "broken-500", "html"])
async def test_every_end_gives_the_place_back(upstream: Upstream, model: str) -> None:
    to = target(upstream, model, timeouts=IMPATIENT)
    with suppress(ProviderError):
        await drain(stream_answer(to, PROMPT))
    assert await streams(to) == 0


async def test_a_stream_that_is_closed_while_it_waits_or_speaks_gives_the_place_back(upstream: Upstream) -> None:
    to = target(upstream, "steady", streams=1)
    first, second = stream_answer(to, PROMPT), stream_answer(to, PROMPT)
    await anext(first)
    assert await anext(second) == Queued(1)
    await second.aclose()
    assert gate().waiting(to.limits.key) == 0
    await first.aclose()
    assert await streams(to) == 0


async def test_a_stream_that_is_closed_as_it_comes_to_its_turn_gives_the_place_back(upstream: Upstream) -> None:
    to = target(upstream, "steady", streams=1)
    first, second = stream_answer(to, PROMPT), stream_answer(to, PROMPT)
    await anext(first)
    assert await anext(second) == Queued(1)
    await first.aclose()
    assert await anext(second) == Queued(0)
    assert await streams(to) == 1
    await second.aclose()
    assert await streams(to) == 0


async def test_refusals_let_fewer_in_and_are_said_in_the_log(
    upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "providers.client")
    to = target(upstream, "always-429")
    with pytest.raises(ProviderError):
        await drain(stream_answer(to, [Message("user", "a secret prompt")]))
    assert await known(to, lambda state: state.window("always-429").size) < policy.WINDOW_START
    said = [record.getMessage() for record in caplog.records if record.name == "providers.client"]
    assert len(said) == client.ATTEMPTS[Priority.INTERACTIVE] - 1
    assert all(f"always-429 at {to.limits.key}: rate_limit, again in" in line for line in said)
    assert "secret" not in caplog.text


async def test_one_models_refusals_hold_up_no_other(upstream: Upstream) -> None:
    busy = target(upstream, "always-429")
    with pytest.raises(ProviderError):
        await drain(stream_answer(busy, PROMPT))
    other = Target("openai", upstream.url, "steady", limits=Limits(busy.limits.key, "steady"))
    async with aclosing(stream_answer(other, PROMPT)) as stream:
        assert isinstance(await anext(stream), Opened)


async def test_whoever_waited_in_vain_is_told_once_and_was_never_asked(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(gate_module.WAIT_MAX_SECONDS, Priority.INTERACTIVE, 0.0)
    to = target(upstream, "thinker", streams=1)
    async with aclosing(stream_answer(to, PROMPT)) as first:
        await anext(first)
        before = len(upstream.requests)
        with pytest.raises(ProviderError, match="no place becomes free in time") as caught:
            await drain(stream_answer(to, PROMPT))
    assert caught.value.kind is ErrorKind.RATE_LIMIT
    assert len(upstream.requests) == before


async def test_tokens_are_counted_as_the_upstream_counted_them(upstream: Upstream) -> None:
    to = target(upstream, "thinker", tokens_per_minute=10)  # too few to leak away within the test
    answer = await drain(stream_answer(to, PROMPT, Sampling(max_tokens=4000)))
    assert answer.text == scripts.PLAIN
    assert answer.usage.input_tokens
    assert answer.usage.output_tokens
    spent = await known(to, lambda state: state.tokens_spent)
    assert spent == pytest.approx(answer.usage.input_tokens + answer.usage.output_tokens, abs=1)


async def test_what_cannot_fit_is_said_before_anything_is_sent(upstream: Upstream) -> None:
    to = Target("openai", upstream.url, "eyes", context_window=100)
    with pytest.raises(ProviderError) as caught:
        await drain(stream_answer(to, [Message("user", "x" * 801)]))
    assert caught.value.kind is ErrorKind.CONTEXT_LENGTH
    assert upstream.asked("eyes") == []
    assert (await drain(stream_answer(to, [Message("user", "x" * 800)]))).text


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        ("503 Service Unavailable", "The model is overloaded. Please try again later.", ErrorKind.RATE_LIMIT),
        ("503 Service Unavailable", "Loading model", ErrorKind.UPSTREAM),
    ],
)
async def test_overload_is_told_from_a_fault(status: str, words: str, kind: ErrorKind) -> None:
    with Upstream({"too-much": scripts.Failure(status, words)}) as upstream:
        to = target(upstream, "too-much")
        with pytest.raises(ProviderError) as caught:
            await drain(stream_answer(to, PROMPT))
        assert caught.value.kind is kind
        has_shrunk = await known(to, lambda state: state.window("too-much").size < policy.WINDOW_START)
        assert has_shrunk == (kind is ErrorKind.RATE_LIMIT)
