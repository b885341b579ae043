"""The supervisor starts programs, shows their lines, restarts them and leaves none behind."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arena_project import supervisor as module
from arena_project.supervisor import Program, Supervisor
from tests.arena_project.children import parent_of_a_sleeper, python

FOREVER = "import time; print('up'); time.sleep(60)"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_DELAY_SECONDS", 0.02)
    monkeypatch.setattr(module, "HEALTH_SECONDS", 0.05)


async def until(true: Callable[[], object], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for is in other processes
            await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and only waits to be collected does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


class Started:
    """A supervisor at work, with what it wrote."""

    def __init__(self, *programs: Program, grace: float = 5) -> None:
        self.stream = io.StringIO()
        self.supervisor = Supervisor(programs, stream=self.stream, grace=grace)
        self.task = asyncio.ensure_future(self.supervisor.run())

    @property
    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()

    async def stop(self) -> int:
        self.supervisor.stop(signal.SIGTERM)
        async with asyncio.timeout(10):
            return await self.task


async def test_lines_stand_behind_the_name_of_their_program() -> None:
    started = Started(python("web", FOREVER), python("worker", FOREVER))
    await until(lambda: len(started.lines) == 2)
    assert await started.stop() == 0
    assert sorted(started.lines[:2]) == ["web     | up", "worker  | up"]


async def test_a_line_without_an_end_and_rubbish_bytes_are_shown() -> None:
    code = "import sys,time; sys.stdout.buffer.write(b'x' * 40000 + b'\\xff last'); sys.stdout.flush(); time.sleep(0.2)"
    started = Started(python("web", code))
    await until(lambda: "\ufffd last" in started.stream.getvalue())
    assert await started.stop() == 0
    assert started.stream.getvalue().count("x") >= 40_000, "cut into lines, and whole"


async def test_a_program_that_ends_is_started_again() -> None:
    started = Started(python("web", "import os; print(os.getpid())"))
    await until(lambda: len({line for line in started.lines if line.removeprefix("web     | ").isdigit()}) >= 2)
    await started.stop()
    assert "tourney | web ended (exit status 0); starting it again in 0.02 s." in started.lines


async def test_a_program_that_is_killed_is_started_again_and_its_health_told() -> None:
    told: list[bool] = []

    async def note(healthy: bool) -> None:
        told.append(healthy)

    async def healthy() -> bool:
        return True

    started = Started(Program("engine", [sys.executable, "-S", "-c", FOREVER], health=healthy, on_health=note))
    await until(lambda: told == [True])
    os.kill(started.supervisor.processes["engine"].pid, signal.SIGKILL)
    await until(lambda: told == [True, False, True])
    await started.stop()
    assert any("engine ended (signal SIGKILL)" in line for line in started.lines)
    assert told == [True, False, True, False]


async def test_the_delay_before_a_restart_grows() -> None:
    started = Started(python("web", "raise SystemExit(3)"))
    async with asyncio.timeout(10):
        assert await started.task == 1
    delays = [line.rpartition(" in ")[2] for line in started.lines if "starting it again" in line]
    assert delays == ["0.02 s.", "0.04 s.", "0.08 s.", "0.16 s."]


async def test_an_essential_program_that_keeps_dying_ends_everything() -> None:
    started = Started(python("web", "raise SystemExit(3)"), python("worker", FOREVER))
    async with asyncio.timeout(10):
        assert await started.task == 1
    assert started.lines[-1] == (
        "tourney | web is given up: it ended 5 times in a row; its lines above say why. Everything stops."
    )


async def test_the_others_go_on_without_one_that_is_not_essential_and_cannot_run_here() -> None:
    started = Started(python("web", FOREVER), python("engine", "raise SystemExit(78)", is_essential=False))
    await until(lambda: len(started.lines) == 2)
    assert started.supervisor.processes.keys() == {"web"}
    assert await started.stop() == 0


async def test_a_program_that_does_not_exist_is_given_up_at_once() -> None:
    started = Started(Program("web", ["/no/such/program"]))
    async with asyncio.timeout(10):
        assert await started.task == 1
    assert "No such file" in started.lines[0]


async def test_a_program_waits_for_the_health_of_another() -> None:
    up = asyncio.Event()

    async def healthy() -> bool:
        return up.is_set()

    web = Program("web", [sys.executable, "-S", "-c", FOREVER], health=healthy)
    worker = Program("worker", [sys.executable, "-S", "-c", FOREVER], waits_for="web")
    started = Started(web, worker)
    await until(lambda: "web     | up" in started.lines)
    await asyncio.sleep(0.2)
    assert started.supervisor.processes.keys() == {"web"}
    up.set()
    await until(lambda: "worker  | up" in started.lines)
    await started.stop()


async def test_a_polite_stop_lets_a_program_say_its_last_words() -> None:
    code = (
        "import signal,sys,time; signal.signal(15, lambda *_: (print('bye'), sys.exit(0)));"
        "print('up', flush=True); time.sleep(60)"
    )
    started = Started(python("web", code))
    await until(lambda: "web     | up" in started.lines)
    await started.stop()
    assert "web     | bye" in started.lines


async def test_a_program_that_will_not_stop_is_killed_with_its_children(tmp_path: Path) -> None:
    started = Started(python("web", FOREVER), parent_of_a_sleeper(tmp_path / "pids"), grace=0.3)
    await until(lambda: "parent  | up" in started.lines)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    await started.stop()
    await until(lambda: not any(is_alive(pid) for pid in pids))
    killed = [line for line in started.lines if "did not stop" in line]
    assert killed == ["tourney | parent did not stop within 0.3 s and is killed."]


def test_none_is_left_behind_when_the_supervisor_itself_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pids"
    process = subprocess.Popen([sys.executable, "-m", "tests.arena_project.children", str(pid_file)])
    deadline = time.monotonic() + 15
    while not pid_file.is_file() or not pid_file.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    pids = [int(pid) for pid in pid_file.read_text().split()]
    assert all(is_alive(pid) for pid in pids)
    process.kill()
    process.wait()
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "the guard did not stop them"
        time.sleep(0.05)


def test_ctrl_c_stops_everything_and_ends_well(tmp_path: Path) -> None:
    pid_file = tmp_path / "pids"
    process = subprocess.Popen([sys.executable, "-m", "tests.arena_project.children", str(pid_file)])
    deadline = time.monotonic() + 15
    while not pid_file.is_file() or not pid_file.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 0
    assert not any(is_alive(int(pid)) for pid in pid_file.read_text().split())


async def test_readiness_is_told_once_the_essential_programs_are_healthy_and_its_failure_stops_everything() -> None:
    up = asyncio.Event()
    stream = io.StringIO()

    async def healthy() -> bool:
        return up.is_set()

    async def ready() -> None:
        raise RuntimeError("no seeds")

    supervisor = Supervisor([Program("web", [sys.executable, "-S", "-c", FOREVER], health=healthy)], stream=stream)
    task = asyncio.ensure_future(supervisor.run(on_ready=ready))
    await until(lambda: "web     | up" in stream.getvalue())
    assert not task.done()
    up.set()
    async with asyncio.timeout(10):
        assert await task == 1
    assert "RuntimeError: no seeds" in stream.getvalue()
