"""One engine and its keeper: it starts, sleeps, wakes, ends in order, and says in words why it does not."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import httpx2
import pytest
from django.conf import settings

from providers.adapters.base import Message, ProviderError, Target, TextDelta
from providers.client import stream_answer
from providers.engines.log_reasons import reason_in
from providers.engines.process import EngineProcess
from providers.engines.states import State, Wanted
from providers.engines.vllm import Spec, command_of, environment_of, load_in, reserved_in
from tests.fakes.scripts import OTHER
from tests.ports import free_port
from tests.providers.fake_engines import kept, listens, spec, ways
from tests.waiting import until


async def ask(one: Spec) -> str:
    target = Target(kind="openai", base_url=f"{one.url}/v1", upstream_id=one.served_as)
    text = ""
    async for event in stream_answer(target, [Message("user", "Why is the sky blue?")]):
        text += event.text if isinstance(event, TextDelta) else ""
    return text


def pid_on(port: int) -> int:
    """The process that listens there."""
    inode = next(
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    )
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == f"socket:[{inode}]":
                return int(link.parts[2])
        except OSError:
            continue
    raise AssertionError("nobody listens")


def is_alive(pid: int) -> bool:
    """Whether it runs; one that is dead and only waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_it_starts_sleeps_wakes_and_ends(tmp_path: Path) -> None:
    one = spec("plain")
    async with kept(one, ways(tmp_path)) as engine:
        ready = await engine.state(State.READY)
        assert ready.cache_tokens == 46_592
        assert await ask(one) == OTHER
        engine.keeper.want(Wanted.ASLEEP)
        await engine.state(State.ASLEEP)
        async with httpx2.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{one.url}/is_sleeping")).json() == {"is_sleeping": True}
        engine.keeper.want(Wanted.AWAKE)
        await engine.state(State.READY)
        assert await ask(one) == OTHER
        engine.keeper.want(Wanted.STOPPED)
        await engine.state(State.STOPPED)
        assert not listens(one.port)
    states = [State.STARTING, State.READY, State.DRAINING, State.ASLEEP, State.WAKING, State.READY, State.DRAINING]
    assert engine.states() == [*states, State.STOPPED]
    log = (tmp_path / "engines" / "plain.log").read_text()
    assert "KV cache size" in log
    assert "hf_abcdefghijklmnop" not in log + engine.reports[5].log_tail, "a token is not shown"


@pytest.mark.parametrize("was_asleep", [False, True], ids=["to start", "to wake"])
async def test_one_that_is_told_otherwise_while_it_waits_for_room_takes_none(tmp_path: Path, was_asleep: bool) -> None:
    one, place, waits = spec("plain"), asyncio.Lock(), asyncio.Event()

    @asynccontextmanager
    async def room() -> AsyncIterator[None]:
        if place.locked():
            waits.set()
        async with place:
            yield

    async with kept(one, ways(tmp_path), Wanted.AWAKE if was_asleep else Wanted.STOPPED) as engine:
        if was_asleep:
            await engine.state(State.READY)
            engine.keeper.want(Wanted.ASLEEP)
            await engine.state(State.ASLEEP)
        engine.keeper.room = room
        async with place:
            engine.keeper.want(Wanted.AWAKE)
            async with asyncio.timeout(30):
                await waits.wait()
            engine.keeper.want(Wanted.ASLEEP)
        await engine.state(State.ASLEEP)
        assert listens(one.port) is was_asleep
        assert engine.states()[-2:] == [State.WAKING if was_asleep else State.STARTING, State.ASLEEP]


async def test_what_runs_is_finished_before_it_sleeps(tmp_path: Path) -> None:
    one = spec("slow")
    async with kept(one, ways(tmp_path)) as engine:
        await engine.state(State.READY)
        answer = asyncio.create_task(ask(one))
        await engine.until(lambda report: report.running == 1)
        engine.keeper.want(Wanted.ASLEEP)
        await engine.until(lambda report: report.state is State.DRAINING and report.running == 1)
        await engine.state(State.ASLEEP)
        assert answer.done()
        assert await answer == OTHER


async def test_level_2_reads_the_weights_again_before_the_cache_comes_back(tmp_path: Path) -> None:
    async with kept(spec("plain", sleep_level=2), ways(tmp_path)) as engine:
        await engine.state(State.READY)
        engine.keeper.want(Wanted.ASLEEP)
        await engine.state(State.ASLEEP)
        engine.keeper.want(Wanted.AWAKE)
        await engine.until(lambda report: "kv_cache" in report.log_tail.rpartition("[route]")[2])
        routes = [line.split("[route] ")[1] for line in engine.now.log_tail.splitlines() if "[route]" in line]
    assert [route.split(" ")[1] for route in routes] == [
        "/sleep?level=2", "/wake_up?tags=weights", "/collective_rpc", "/wake_up?tags=kv_cache"
    ]  # fmt: skip


async def test_without_sleep_mode_to_sleep_is_to_stop_and_to_wake_is_to_start(tmp_path: Path) -> None:
    one = spec("plain", sleep_level=0)
    async with kept(one, ways(tmp_path), Wanted.ASLEEP) as engine:
        await engine.state(State.ASLEEP)
        engine.keeper.want(Wanted.AWAKE)
        await engine.state(State.READY)
        engine.keeper.want(Wanted.ASLEEP)
        await engine.state(State.ASLEEP)
        with pytest.raises(httpx2.ConnectError):
            await httpx2.AsyncClient(trust_env=False).get(f"{one.url}/health")
    assert engine.states() == [State.ASLEEP, State.WAKING, State.READY, State.DRAINING, State.ASLEEP, State.STOPPED]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("oom", "The GPU's memory did not suffice while the model was loaded."),
        ("no-cache", "Its context needs 16.0 GiB of cache, and its share leaves 2.35."),
        ("crowded", "Only 1.2 of 23.5 GiB of the GPU are free"),
        ("disk-full", "The disk is full."),
        ("no-gpu", "The GPU that it was told to use is not there."),
        ("long", "Its context of 100000 tokens is longer than the model was made for: 8192 at most."),
        ("host-full", "Only 0.52 of 15.61 GiB of this machine's memory are free"),
        ("in-parts", "A request with a seed, whose prompt was read in parts, ended it: a fault of vLLM on CPUs."),
        ("/nowhere/model", "There is no such model"),
    ],
)
async def test_it_says_in_words_why_it_does_not_start_and_tries_again(tmp_path: Path, model: str, words: str) -> None:
    async with kept(spec(model, slug="engine", served_as="engine"), ways(tmp_path)) as engine:
        failed = await engine.state(State.FAILED)
        assert failed.reason.startswith(words)
        assert "started again in 0.1 s" in failed.reason
        await engine.until(lambda report: report.restarts == 2 and "0.2 s" in report.reason)


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        async with kept(spec("plain", port=other.getsockname()[1]), ways(tmp_path)) as engine:
            assert (await engine.state(State.FAILED)).reason.endswith("another program. It is started again in 0.1 s.")


async def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    there = ways(tmp_path)
    async with kept(spec("plain"), type(there)(folder=there.folder, python="/nowhere/python")) as engine:
        assert (
            "vLLM cannot be run: No such file or directory (/nowhere/python)"
            in (await engine.state(State.FAILED)).reason
        )


async def test_one_that_is_never_ready_is_stopped(tmp_path: Path) -> None:
    async with kept(spec("never-ready"), ways(tmp_path, start_seconds=1)) as engine:
        assert (await engine.state(State.FAILED)).reason.startswith("It was not ready within 1 s.")


async def test_one_that_is_killed_comes_back(tmp_path: Path) -> None:
    one = spec("plain")
    async with kept(one, ways(tmp_path)) as engine:
        await engine.state(State.READY)
        os.kill(pid_on(one.port), signal.SIGKILL)
        assert "signal SIGKILL" in (await engine.state(State.FAILED)).reason
        assert (await engine.state(State.READY)).restarts == 1
        assert await ask(one) == OTHER


async def test_one_that_dies_while_it_drains_is_said_to_have_died(tmp_path: Path) -> None:
    one = spec("slow")
    async with kept(one, ways(tmp_path)) as engine:
        await engine.state(State.READY)
        answer = asyncio.create_task(ask(one))
        await engine.until(lambda report: report.running == 1)
        engine.keeper.want(Wanted.ASLEEP)
        await engine.state(State.DRAINING)
        os.kill(pid_on(one.port), signal.SIGKILL)
        assert "signal SIGKILL" in (await engine.state(State.FAILED)).reason
        with pytest.raises(ProviderError):
            await answer


async def test_of_one_that_ended_by_itself_nothing_is_left_to_hold_the_gpu(tmp_path: Path) -> None:
    guard = Mock()
    process = EngineProcess(tmp_path / "log", guard)
    await process.start(["sh", "-c", "sleep 600 & echo $!"], os.environ)
    await until(lambda: not process.is_running() and bool(process.tail))
    worker = int(process.tail[0])
    assert is_alive(worker)
    await process.stop()
    await until(lambda: not is_alive(worker))
    await process.stop()
    assert [call.args[0] for call in guard.tell.call_args_list] == ["+", "-"], "once: its number may be another's"


async def test_one_that_cannot_sleep_gives_its_memory_back_all_the_same(tmp_path: Path) -> None:
    async with kept(spec("sleepless"), ways(tmp_path)) as engine:
        await engine.state(State.READY)
        engine.keeper.want(Wanted.ASLEEP)
        assert (await engine.state(State.FAILED)).reason.startswith("It could not be put to sleep, and was stopped")
        assert "not loaded" in (await engine.state(State.ASLEEP)).reason


async def test_a_log_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "engines").write_text("a file where the folder should be")
    async with kept(spec("plain"), ways(tmp_path)) as engine:
        await engine.state(State.READY)
        assert "Its log cannot be written" in (await engine.until(lambda report: bool(report.reason))).reason


async def test_an_engine_of_another_machine_is_watched_and_never_started(tmp_path: Path) -> None:
    here = spec("plain")
    async with kept(here, ways(tmp_path)) as engine:
        elsewhere = Spec(
            slug="far", model="far", served_as="plain", port=here.port, host="127.1"
        )  # the same, in other words
        await engine.state(State.READY)
        async with kept(elsewhere, ways(tmp_path), Wanted.STOPPED) as far:
            await far.state(State.READY)
            async with httpx2.AsyncClient(trust_env=False) as client:
                await client.post(f"{here.url}/sleep")
                away = await far.state(State.UNREACHABLE)
                assert away.reason == "It sleeps; wake it on its own machine.", "nobody here could"
                await client.post(f"{here.url}/wake_up")
            await far.state(State.READY)
            engine.keeper.want(Wanted.STOPPED)
            assert "does not answer" in (await far.state(State.UNREACHABLE)).reason
    assert not (tmp_path / "engines" / "far.log").exists()


def test_a_keeper_that_is_killed_leaves_no_engine_behind(tmp_path: Path) -> None:
    port = free_port()
    keeper = subprocess.Popen(
        [sys.executable, "-m", "tests.providers.fake_engines", tmp_path, str(port)],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "arena_project.settings"},
        stdout=subprocess.PIPE,
    )
    assert keeper.stdout
    assert keeper.stdout.readline() == b"ready\n"
    keeper.kill()
    keeper.wait()
    keeper.stdout.close()
    deadline = time.monotonic() + 30
    while listens(port):
        assert time.monotonic() < deadline, "the guard did not end it"
        time.sleep(0.05)


def test_the_command_is_a_list_and_the_environment_has_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = {
        "OPENAI_API_KEY", "ACME_KEY", "SECRET_KEY", "METRICS_TOKEN", "POSTGRES_PASSWORD", "OTEL_EXPORTER_OTLP_HEADERS",
        "KEY_ENCRYPTION_SECRETS", "DATABASE_URL", "THEIR_SECRET",
    }  # fmt: skip
    needed = {"HF_TOKEN", "VLLM_API_KEY", "HTTPS_PROXY"}
    for name in hidden | needed:
        monkeypatch.setenv(name, "value")
    one = Spec(
        slug="a", model="org/m; rm -rf /", served_as="a", port=9000, quantization="awq", tensor_parallel=2,
        memory_share=0.45, context=4096, gpus="0,1", extra_arguments=("--max-num-seqs", "64"),
    )  # fmt: skip
    command = command_of(one)
    assert command[:3] == ["vllm", "serve", "org/m; rm -rf /"]
    assert command[-3:] == ["--enable-sleep-mode", "--max-num-seqs", "64"]
    assert command[command.index("--gpu-memory-utilization") + 1] == "0.45"
    environment = environment_of(one, tmp_path, is_offline=True)
    assert not hidden & set(environment)
    assert needed <= set(environment)
    assert environment["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert environment["HF_HUB_OFFLINE"] == "1"
    assert environment["PATH"] == os.environ["PATH"]
    own = environment_of(replace(one, python="/opt/vllm/bin/python"), tmp_path)
    assert own["PATH"] == f"/opt/vllm/bin:{os.environ['PATH']}", "vLLM calls ninja by name"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "vLLM calls the program ninja,"),
        ("No such file or directory: '/usr/local/cuda/bin/nvcc'", "vLLM calls the program nvcc,"),
        ("/bin/sh: 1: nvcc: not found", "vLLM calls the program nvcc,"),
        ("RuntimeError: Ninja is required to load C++ extensions", "vLLM calls the program Ninja,"),
        ('FileNotFoundError: No such file or directory: "/m/model-00001-of-2.safetensors"', "There is no such model"),
        ("OSError: m does not appear to have a file named config.json.", "There is no such model"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/run/x.sock'", "It ended with: FileNotFoundError"),
    ],
)
def test_a_program_that_is_missing_is_no_model_that_is_missing(line: str, words: str) -> None:
    assert reason_in(["INFO loading", line]).startswith(words)


@pytest.mark.parametrize(
    "argument",
    ["--host=0.0.0.0", "--hos=0.0.0.0", "--served_model_name", "--api_key=x", "--api", "--gpu-memory-utilization=0.9",
     "--gpu_memory", "--max-model-len", "--config", "--config=x.yaml", "--enable-sleep-mode", "--ssl_keyfile",
     "--dtype", "--tensor-parallel-size", "-tp", "-t", "-tp=2", "-q", "-qawq", "--model.x=1", "--uds", "--"],
)  # fmt: skip
def test_what_tourney_says_itself_is_reserved_in_every_spelling(argument: str) -> None:
    assert reserved_in(["--max-num-seqs", "64", argument]) == argument


def test_every_name_of_the_command_is_reserved_and_others_of_vllm_are_not() -> None:
    one = Spec(slug="a", model="m", served_as="a", port=9000, revision="r", quantization="awq", dtype="float16",
               tensor_parallel=2, memory_share=0.4, context=4096, python="/opt/vllm/bin/python")  # fmt: skip
    names = [argument for argument in command_of(one) if argument.startswith("--")]
    assert len(names) == 11
    assert [name for name in names if not reserved_in([name])] == []
    free = ["--max-num-seqs=32", "--max_num_seqs", "--no-enable-sleep-mode", "--model-impl", "--config-format", "-pp",
            "--quantization-param-path", "--kv-cache-dtype", "--enforce-eager", "--tokenizer", "--hf-overrides",
            "-O3", "--trust-remote-code", "--no-enable-chunked-prefill", "--pipeline-parallel-size", "2"]  # fmt: skip
    assert reserved_in(free) == ""


def test_metrics_of_several_processes_are_added_up() -> None:
    text = (
        'vllm:num_requests_running{engine="0"} 2.0\nvllm:num_requests_running{engine="1"} 3.0\n'
        'vllm:num_requests_waiting{engine="0"} 1.0\nvllm:kv_cache_usage_perc{engine="0"} 1.5e-01\n'
        'vllm:kv_cache_usage_perc{engine="1"} 0.5\nrubbish{\n'
    )
    load = load_in(text)
    assert (load.running, load.waiting, load.cache_used) == (5, 1, 0.5)
