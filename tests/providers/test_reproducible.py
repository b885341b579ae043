"""A record says exactly what was asked, of whom, by which code, and what it cost; or that nobody was asked."""

from dataclasses import replace
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from django.conf import settings

from providers import live
from providers.adapters.base import Finished, FinishReason, Image, Message, Opened, Quirks, Sampling, Target, Usage
from providers.kept_answers import CHARACTERS_A_SECOND, FIRST_TOKEN_MS, KeptAnswer, _pace
from providers.live_record import Recorder, messages_hash, sampling_sent
from tests.fakes.scripts import PLAIN
from tests.fakes.upstream import Upstream

ASKED = (Message("user", "Why?"),)
PRICED = Target("openai", "http://127.0.0.1:9/v1", "up/stream", input_price=2.0, output_price=10.0)


async def written(target: Target, kept: KeptAnswer | None = None) -> live.GenerationRecord:
    """What is stored of one whole generation."""
    records: list[live.GenerationRecord] = []

    async def save(id: UUID, record: live.GenerationRecord) -> None:
        records.append(record)

    id = uuid4()
    live.start(id, target, ASKED, save, kept=kept)
    await live.wait(id)
    return records[-1]


async def test_a_record_names_request_sampling_seed_wire_and_code(upstream: Upstream) -> None:
    sampling = Sampling(temperature=0.0, seed=7, stop=("END",))
    target = replace(PRICED, base_url=upstream.url, upstream_id="steady", sampling=sampling)
    record = await written(target)
    assert record.messages_hash == messages_hash(target, ASKED)
    assert record.sampling == {"temperature": 0.0, "seed": 7, "stop": ("END",)}
    assert (record.adapter, record.code_version) == ("openai", settings.VERSION)
    assert not record.is_cached
    assert upstream.asked("steady")[-1].sampling["seed"] == 7


def test_the_names_that_an_upstream_gives_are_kept_within_bounds() -> None:
    recorder = Recorder(PRICED, ASKED)
    recorder.note(Opened(request_id="req-" + "1" * 500))
    recorder.note(Finished(FinishReason.STOP, Usage(1, 1), upstream_model="up/stream-2026-01" + "x" * 500))
    record = recorder.record("finished", "Because.", "")
    assert record.request_id.startswith("req-1")
    assert record.upstream_model.startswith("up/stream-2026-01")
    assert (len(record.request_id), len(record.upstream_model)) == (200, 200)


def test_equal_messages_have_equal_hashes_and_each_part_counts() -> None:
    usual = messages_hash(PRICED, ASKED)
    assert usual == messages_hash(replace(PRICED, upstream_id="another"), ASKED)
    pictured = (Message("user", "Why?", (Image("image/png", b"1"),)),)
    others = {
        messages_hash(PRICED, (Message("user", "Why"), Message("assistant", "?"))),
        messages_hash(PRICED, (Message("assistant", "Why?"),)),
        messages_hash(replace(PRICED, system_prompt="Be brief."), ASKED),
        messages_hash(PRICED, pictured),
        messages_hash(PRICED, (Message("user", "Why?", (Image("image/png", b"2"),)),)),
    }
    assert len(others | {usual}) == 6


def test_what_a_model_refuses_is_not_said_to_be_sent() -> None:
    target = replace(PRICED, sampling=Sampling(temperature=1.0, top_p=0.5), quirks=Quirks(unsupported=("temperature",)))
    assert sampling_sent(target) == {"top_p": 0.5}


def test_reasoning_is_paid_as_part_of_the_output() -> None:
    recorder = Recorder(PRICED, ASKED)
    recorder.note(Finished(FinishReason.STOP, Usage(1_000, 3_000, reasoning_tokens=2_000)))
    record = recorder.record("finished", "Because.", "Hm.")
    assert record.reasoning_tokens == 2_000
    assert record.cost == Decimal("0.032")


def test_an_answer_that_was_cut_off_is_reckoned_from_its_characters() -> None:
    recorder = Recorder(PRICED, (Message("user", "x" * 400),))
    assert recorder.record("stopped", "", "").cost is None, "nothing came, so nothing is owed"
    recorder.token_came()
    record = recorder.record("stopped", "y" * 3_000, "z" * 1_000)
    assert record.cost == Decimal("0.0102")
    assert record.output_tokens is None, "a count is what the upstream counted"


@pytest.mark.parametrize("target", [replace(PRICED, input_price=None), replace(PRICED, output_price=None)])
def test_a_cost_is_unknown_where_a_price_is(target: Target) -> None:
    recorder = Recorder(target, ASKED)
    recorder.token_came()
    assert recorder.record("finished", "Because.", "").cost is None


async def test_a_kept_answer_is_played_word_for_word_asks_nobody_and_costs_nothing(upstream: Upstream) -> None:
    before = len(upstream.requests)
    kept = KeptAnswer(PLAIN, "Let me think.", "stop", 5, 12, first_token_ms=1, latency_ms=2)
    record = await written(replace(PRICED, base_url=upstream.url), kept)
    assert (record.text, record.reasoning) == (PLAIN, "Let me think.")
    assert (record.status, record.is_cached, record.cost) == ("finished", True, Decimal(0))
    assert (record.input_tokens, record.output_tokens) == (5, 12)
    assert record.first_token_ms is not None
    assert record.first_token_ms >= FIRST_TOKEN_MS[0], "an answer that is there at once tells that it was kept"
    assert len(upstream.requests) == before


@pytest.mark.parametrize(("first", "latency"), [(None, None), (0, 0), (900, 900), (10**6, 10**7), (5, 6)])
def test_a_kept_answer_takes_no_more_and_no_less_than_a_model_might(first: int | None, latency: int | None) -> None:
    seconds, pace = _pace(KeptAnswer("x" * 5_000, "", "stop", None, None, first, latency))
    assert FIRST_TOKEN_MS[0] / 1000 <= seconds <= FIRST_TOKEN_MS[1] / 1000
    assert CHARACTERS_A_SECOND[0] <= pace <= CHARACTERS_A_SECOND[1]
