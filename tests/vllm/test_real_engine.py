"""A real vLLM on the CPU under Tourney's own keeper: started, asked by a battle, a conversation and MT-bench, put to
sleep, killed in mid-stream. `make test-vllm` installs what it needs; without it these are skipped."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.engines.configs import architecture_of
from providers.engines.planner import GIB, Way, tokens_in
from tests.conversations.live import act, until_still
from tests.fakes.scripts import Answer
from tests.fakes.upstream import Upstream
from tests.providers.test_engine_keeper import pid_on
from tests.vllm.room import CACHE_GIB, MODEL, SAFE, Room, needs_vllm, open_room

MODELS = ["real", "real-brief"]

pytestmark = needs_vllm


@pytest.fixture(scope="module")
def judge() -> Iterator[Upstream]:
    with Upstream({"judge": Answer("It answers what was asked.\n\nRating: [[7]]", seconds_a_token=0)}) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, judge: Upstream) -> Iterator[Room]:
    folder = tmp_path_factory.mktemp("vllm")
    with open_room(folder, upstream_url=judge.url, engines={"real": SAFE}) as room:
        room.server.manage("questions_seed")
        room.server.manage("shell", "-c", (
            "from providers.models import Endpoint, LanguageModel as M;"
            "real = M.objects.get(slug='real'); M.objects.create(endpoint=real.endpoint, slug='real-brief',"
            " name='Brief', upstream_id='real', system_prompt='Answer in one short sentence.', context_window=2048);"
            f"e = Endpoint.objects.create(slug='judge', name='Judge', base_url={judge.url!r});"
            "M.objects.create(endpoint=e, slug='judge', name='Judge', upstream_id='judge')"
        ))  # fmt: skip
        yield room


def test_it_starts_and_reports_the_cache_that_the_planner_counted(room: Room) -> None:
    began = time.monotonic()
    row = room.state("ready")
    planned = tokens_in(architecture_of(str(MODEL)), Way(), CACHE_GIB * GIB)
    print(f"\nready after {time.monotonic() - began:.0f} s; cache {row['cache_tokens']:,}, planned {planned:,} tokens")
    assert row["cache_tokens"] == pytest.approx(planned, rel=0.01)


def test_a_blind_battle(room: Room) -> None:
    room.state("ready")
    made = room.battle("Say hello in five words.", MODELS)
    with room.person.watch(made["id"]) as window:
        ended = window.until_ended()
        assert {frame["type"] for frame in ended.values()} == {"finished"}
        window.send("preference", choice="a")
        revealed = window.until("revealed")["battle"]
    assert {side["model"]["slug"] for side in revealed["sides"]} == set(MODELS)


def test_a_conversation(room: Room) -> None:
    room.state("ready")
    agents = {f"agent_{side}": {"model": slug, "max_tokens": 40} for side, slug in zip("ab", MODELS, strict=True)}
    body = {**agents, "seed_prompt": "Talk about the sea.", "max_turns": 4, "seed": 7}
    status, made = room.person.call("POST", "conversations/", body)
    assert status == 201, made
    act(room.person, made, "run")
    ended = until_still(room.person, made)
    assert [turn["status"] for turn in ended["turns"]] == ["finished"] * 4
    assert all(turn["text"].strip() for turn in ended["turns"])


def test_mt_bench_of_two_questions(room: Room, tmp_path: Path) -> None:
    room.state("ready")
    said = room.server.manage(
        "mtbench", "--models", "real", "--judge-model", "judge", "--max-questions", "2", "--max-tokens", "64",
        "--output-dir", str(tmp_path),
    )  # fmt: skip
    assert re.search(r"\b7\.0", said), said


def test_it_sleeps_and_a_battle_wakes_it(room: Room) -> None:
    """vLLM has no sleep mode on CPUs, but its routes toggle; the contract is the same, the memory is not freed."""
    room.state("ready")
    room.want("asleep")
    room.state("asleep")
    made = room.battle("Name a colour.", MODELS, mode="named")
    assert room.ended(made) == {"finished"}
    room.state("ready")
    assert "/sleep" in room.log()
    assert "/wake_up" in room.log()


def test_killed_in_mid_stream_it_comes_back(room: Room) -> None:
    room.state("ready")
    made = room.battle("Tell a long story of a whale, with many chapters.", MODELS, mode="named")
    with room.person.watch(made["id"]) as window:
        window.until("delta", "block")
        os.kill(pid_on(room.ports["real"]), signal.SIGKILL)
        began = time.monotonic()
        ended = window.until_ended()
    assert {frame["type"] for frame in ended.values()} == {"failed"}
    row = room.until(lambda row: row["state"] == "ready" and row["restarts"] == 1)
    print(f"\nkilled and back after {time.monotonic() - began:.0f} s: {json.dumps(row)[:200]}")
    assert room.ended(room.battle("Say hello.", MODELS, mode="named")) == {"finished"}


def test_it_stops_cleanly(room: Room) -> None:
    room.state("ready")
    room.want("stopped")
    room.state("stopped")
    with pytest.raises((AssertionError, StopIteration)):
        pid_on(room.ports["real"])
