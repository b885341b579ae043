"""The one path on which answers come: what is tried again, how long anything may take, and what is left behind."""

import asyncio
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from providers import client
from providers.adapters.base import ErrorKind, Message, ProviderError, Sampling, Target, Timeouts
from providers.client import Answer, drain, stream_answer
from tests.fakes import scripts
from tests.fakes.upstream import Upstream
from tests.waiting import until

# Wide enough for a busy machine; a test that waits for a timeout to run out names a short one.
QUICK = Timeouts(connect=10, first_token=10, idle=2, total=20)
SHORT_SECONDS = 0.2


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "WAIT_FIRST_SECONDS", 0.01)


def target(upstream: Upstream, model: str, timeouts: Timeouts = QUICK) -> Target:
    return Target("openai", upstream.url, model, timeouts=timeouts)


async def answer(to: Target, prompt: str = "Why?", sampling: Sampling | None = None) -> Answer:
    return await drain(stream_answer(to, [Message("user", prompt)], sampling))


async def failure(to: Target, prompt: str = "Why?") -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answer(to, prompt)
    return caught.value


# --- Retries ---


async def test_a_busy_service_is_asked_again_when_it_says(upstream: Upstream) -> None:
    began = time.monotonic()
    assert (await answer(target(upstream, "busy-429"))).text == scripts.PLAIN
    assert len(upstream.asked("busy-429")) == 3
    assert time.monotonic() - began >= 0.1  # twice its Retry-After


@pytest.mark.parametrize(
    ("model", "times"), [("always-429", 3), ("broken-500", 3), ("rubbish", 3), ("refuses-401", 1), ("missing-404", 1)]
)
async def test_only_what_may_pass_is_tried_again(upstream: Upstream, model: str, times: int) -> None:
    await failure(target(upstream, model))
    assert len(upstream.asked(model)) == times


@pytest.mark.parametrize("model", ["dies", "error-in-stream", "cut", "stall-after"])
async def test_nothing_is_tried_again_once_something_was_seen(upstream: Upstream, model: str) -> None:
    await failure(target(upstream, model))
    assert len(upstream.asked(model)) == 1


async def test_a_timeout_that_the_service_reports_is_tried_again() -> None:
    slow = scripts.Failure("504 Gateway Timeout", every=2)
    with Upstream({"slow-504": slow}) as upstream:
        assert (await answer(target(upstream, "slow-504"))).text == scripts.PLAIN


async def test_nobody_waits_for_a_service_that_wants_a_long_wait() -> None:
    late = scripts.Failure("429 Too Many Requests", retry_after="3600")
    with Upstream({"late": late}) as upstream:
        async with asyncio.timeout(60):
            error = await failure(target(upstream, "late"))
        assert error.retry_after == 3600
        assert len(upstream.requests) == 1


async def test_an_address_where_nobody_listens_is_tried_three_times(upstream: Upstream) -> None:
    error = await failure(Target("openai", "http://127.0.0.1:9/v1", "steady"))
    assert error.kind is ErrorKind.CONNECTION


# --- Timeouts ---


@pytest.mark.parametrize("model", ["silent", "stall-before"])
async def test_a_first_token_that_does_not_come_is_a_timeout(upstream: Upstream, model: str) -> None:
    began = time.monotonic()
    error = await failure(target(upstream, model, replace(QUICK, first_token=SHORT_SECONDS)))
    assert (error.kind, error.detail.split(",")[0]) == (ErrorKind.TIMEOUT, f"nothing came for {SHORT_SECONDS} s")
    assert time.monotonic() - began >= SHORT_SECONDS * 0.95
    assert len(upstream.asked(model)) <= 1  # none, where the machine is so busy that it came too late


async def test_a_pause_that_is_too_long_is_a_timeout(upstream: Upstream) -> None:
    error = await failure(target(upstream, "stall-after", replace(QUICK, idle=SHORT_SECONDS)))
    assert (error.kind, error.detail.split(",")[0]) == (ErrorKind.TIMEOUT, f"nothing came for {SHORT_SECONDS} s")


async def test_an_answer_that_never_ends_is_a_timeout(upstream: Upstream) -> None:
    began = time.monotonic()
    error = await failure(target(upstream, "slow", replace(QUICK, total=SHORT_SECONDS)))
    assert error.kind is ErrorKind.TIMEOUT
    assert time.monotonic() - began >= SHORT_SECONDS * 0.95


async def test_a_timeout_of_our_own_is_not_tried_again(upstream: Upstream) -> None:
    before = len(upstream.asked("broken-500"))
    error = await failure(target(upstream, "broken-500", replace(QUICK, total=0.0)))
    assert error.kind is ErrorKind.TIMEOUT
    assert len(upstream.asked("broken-500")) <= before + 1


async def test_a_slow_reader_is_no_slow_service(upstream: Upstream) -> None:
    """The time that whoever reads takes is not the service's."""
    stream = stream_answer(target(upstream, "steady", replace(QUICK, idle=0.5)), [Message("user", "Why?")])
    await anext(stream)
    await asyncio.sleep(1)
    assert (await drain(stream)).text.endswith(scripts.STEADY[-20:])


async def test_an_answer_without_an_end_is_given_up(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_MAX_CHARACTERS", 100)
    assert (await failure(target(upstream, "steady"))).kind is ErrorKind.UPSTREAM


# --- What is asked ---


async def test_the_system_prompt_comes_first_and_sampling_is_merged(upstream: Upstream) -> None:
    to = replace(
        target(upstream, "echo"), system_prompt="Be brief.", sampling=Sampling(temperature=1.5, top_p=0.9, stop=("X",))
    )
    found = await answer(to, sampling=Sampling(temperature=0.0, max_tokens=5))
    assert found.text == '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]'
    assert upstream.asked("echo")[-1].sampling == {"temperature": 0.0, "top_p": 0.9, "max_tokens": 5, "stop": ["X"]}


async def test_a_whole_answer_is_a_drained_stream(upstream: Upstream) -> None:
    found = await answer(target(upstream, "thinker"))
    assert (found.text, found.reasoning) == (scripts.PLAIN, "Let me think. Blue light is scattered more.")
    assert found.usage.input_tokens == 9


# --- What is left behind ---


@pytest.mark.parametrize("model", ["steady", "dies", "stall-after", "silent", "always-429", "html"])
async def test_no_task_stays_behind(upstream: Upstream, model: str) -> None:
    before = asyncio.all_tasks()
    with suppress(ProviderError):
        await answer(target(upstream, model, replace(QUICK, first_token=SHORT_SECONDS, idle=SHORT_SECONDS)))
    await until(lambda: asyncio.all_tasks() == before)


@pytest.mark.parametrize("model", ["slow", "silent", "stall-after", "always-429"])
async def test_who_gives_up_leaves_neither_task_nor_connection(model: str) -> None:
    with Upstream() as upstream:
        before = asyncio.all_tasks()
        task = asyncio.create_task(answer(target(upstream, model, Timeouts())))
        await until(lambda: bool(upstream.requests))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if model != "always-429":  # there the answer is complete and its connection may be used again
            await until(lambda: not upstream.connections)
        await until(lambda: asyncio.all_tasks() == before)


async def test_a_stream_that_is_closed_early_closes_its_connection() -> None:
    with Upstream() as upstream:
        stream = stream_answer(target(upstream, "slow"), [Message("user", "Why?")])
        await anext(stream)
        await stream.aclose()
        await until(lambda: not upstream.connections)


async def test_an_error_does_not_show_the_key() -> None:
    to = Target("openai", "http://127.0.0.1:9/v1", "steady", api_key="very-secret")
    assert "very-secret" not in repr(to)
    assert "very-secret" not in (await failure(to)).detail
