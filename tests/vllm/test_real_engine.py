"""A real vLLM on the CPU under Tourney's own keeper: started, asked by a battle, a conversation and MT-bench, put to
sleep, killed in mid-stream. `make test-vllm` installs what it needs; without it these are skipped."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.engines.configs import architecture_of
from providers.engines.embedded import embedded_model_path
from providers.engines.planner import GIB, Wanted, tokens_in
from tests.conversations.live import act, until_still
from tests.fakes.scripts import Answer
from tests.fakes.upstream import Upstream
from tests.live import JSON, Person
from tests.providers.test_engine_keeper import pid_on
from tests.server import ROOT, Server, free_port, start

VENV = ROOT / ".venv-vllm"
PYTHON = VENV / "bin" / "python"
MODEL = VENV / "smollm2-135m"
CONTEXT, CACHE_GIB = 2048, 1
READY_WITHIN_SECONDS = 900.0  # half a minute on an idle machine
MODELS = ["real", "real-brief"]

pytestmark = [pytest.mark.vllm, pytest.mark.skipif(not PYTHON.exists(), reason="make test-vllm installs vLLM")]


class Room:
    """A server and its engines."""

    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port
        self.person = Person(server, server.accounts[0])  # the administrator

    def engine(self) -> JSON:
        status, row = self.person.call("GET", "engines/real/")
        assert status == 200, row
        return row

    def want(self, desired: str) -> None:
        status, row = self.person.call("PATCH", "engines/real/", {"desired": desired})
        assert status == 200, row

    def until(self, condition: Callable[[JSON], bool]) -> JSON:
        late = time.monotonic() + READY_WITHIN_SECONDS
        while not condition(row := self.engine()):
            assert time.monotonic() < late, row
            time.sleep(0.5)
        return row

    def state(self, state: str) -> JSON:
        return self.until(lambda row: row["state"] == state)

    def log(self) -> str:
        return (Path(self.server.environment["TOURNEY_VAR"]) / "engines" / "real.log").read_text()


@pytest.fixture(scope="module")
def judge() -> Iterator[Upstream]:
    with Upstream({"judge": Answer("It answers what was asked.\n\nRating: [[7]]", seconds_a_token=0)}) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory, judge: Upstream) -> Iterator[Room]:
    if not (MODEL / "config.json").exists():
        subprocess.run([PYTHON, ROOT / "deploy" / "gguf_to_folder.py", embedded_model_path(), MODEL], check=True)
    port = free_port()
    server = start(
        tmp_path_factory.mktemp("vllm"),
        upstream_url=judge.url,
        ENGINE_PYTHON=str(PYTHON),
        MODELS_OFFLINE="true",
        VLLM_CPU_KVCACHE_SPACE=str(CACHE_GIB),
    )
    extra = ["--enforce-eager", "--no-enable-chunked-prefill", "--no-enable-sleep-mode"]
    server.manage("engines", "add", "real", str(MODEL), "--port", str(port), "--context", str(CONTEXT),
                  *(f"--argument={one}" for one in extra))  # fmt: skip
    server.manage("questions_seed")
    server.manage("shell", "-c", (
        "from providers.models import Endpoint, LanguageModel as M; from providers.engine_models import Engine;"
        "real = M.objects.get(slug='real'); M.objects.create(endpoint=real.endpoint, slug='real-brief', name='Brief',"
        " upstream_id='real', system_prompt='Answer in one short sentence.', context_window=2048);"
        f"e = Endpoint.objects.create(slug='judge', name='Judge', base_url={judge.url!r});"
        "M.objects.create(endpoint=e, slug='judge', name='Judge', upstream_id='judge')"
    ))  # fmt: skip
    keeper = subprocess.Popen([sys.executable, "manage.py", "engines", "run"], cwd=ROOT, env=server.environment)
    try:
        yield Room(server, port)
    finally:
        keeper.terminate()
        keeper.wait(60)
        server.stop()


def battle(room: Room, prompt: str, **fields: Any) -> JSON:
    status, made = room.person.call("POST", "battles/", {"prompt": prompt, "models": MODELS, **fields})
    assert status == 201, made
    return made


def test_it_starts_and_reports_the_cache_that_the_planner_counted(room: Room) -> None:
    began = time.monotonic()
    row = room.state("ready")
    planned = tokens_in(architecture_of(str(MODEL)), Wanted(), CACHE_GIB * GIB)
    print(f"\nready after {time.monotonic() - began:.0f} s; cache {row['cache_tokens']:,}, planned {planned:,} tokens")
    assert row["cache_tokens"] == pytest.approx(planned, rel=0.01)


def test_a_blind_battle(room: Room) -> None:
    room.state("ready")
    made = battle(room, "Say hello in five words.")
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
    made = battle(room, "Name a colour.", mode="named")
    with room.person.watch(made["id"]) as window:
        ended = window.until_ended()
    assert {frame["type"] for frame in ended.values()} == {"finished"}
    room.state("ready")
    assert "/sleep" in room.log()
    assert "/wake_up" in room.log()


def test_killed_in_mid_stream_it_comes_back(room: Room) -> None:
    room.state("ready")
    made = battle(room, "Tell a long story of a whale, with many chapters.", mode="named")
    with room.person.watch(made["id"]) as window:
        window.until("delta", "block")
        os.kill(pid_on(room.port), signal.SIGKILL)
        began = time.monotonic()
        ended = window.until_ended()
    assert {frame["type"] for frame in ended.values()} == {"failed"}
    row = room.until(lambda row: row["state"] == "ready" and row["restarts"] == 1)
    print(f"\nkilled and back after {time.monotonic() - began:.0f} s: {json.dumps(row)[:200]}")
    made = battle(room, "Say hello.", mode="named")
    with room.person.watch(made["id"]) as window:
        assert {frame["type"] for frame in window.until_ended().values()} == {"finished"}


def test_it_stops_cleanly(room: Room) -> None:
    room.state("ready")
    room.want("stopped")
    room.state("stopped")
    with pytest.raises((AssertionError, StopIteration)):
        pid_on(room.port)
