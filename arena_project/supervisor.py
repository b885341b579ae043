"""Starts Tourney's processes together, shows what they print, restarts what dies and stops all of them.

Knows nothing of Django or of what it runs: programs in, lines out. Each program has a process group of its own, so
that Ctrl-C reaches only the supervisor, and whatever a program starts is stopped with it. A guard process
(`common/process_guard.py`) stops the groups even when the supervisor itself is killed.
"""

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TextIO

from common.processes import STOPS_FOR_GOOD, Guard, describe, signal_group

GRACE_SECONDS = 10.0  # from "please stop" to "stop now"
FIRST_DELAY_SECONDS = 0.5  # before the first restart; doubles with every death
LONGEST_DELAY_SECONDS = 15.0
STABLE_SECONDS = 20.0  # a program that lived this long may start over with the first delay
QUICK_DEATHS = 5  # so many deaths in a row, none of them stable, and it is given up
HEALTH_SECONDS = 1.0  # between two looks at a program's health
LONGEST_LINE = 16_384  # bytes; a longer line is cut into several
COLOURS = (36, 33, 35, 32, 34)  # ANSI: cyan, yellow, magenta, green, blue

Health = Callable[[], Awaitable[bool]]
HealthChanged = Callable[[bool], Awaitable[None]]


@dataclass(frozen=True)
class Program:
    """One process to keep running.

    `health` is asked about once a second and `on_health` told of every change, of a death at once. When an
    `is_essential` program is given up, everything stops; the others go on without one that is not. A program
    `waits_for` another's first healthy answer, so that on few cores the page is there first.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    is_essential: bool = True
    health: Health | None = None
    on_health: HealthChanged | None = None
    waits_for: str = ""


class Output:
    """Lines of several programs, each behind its name; coloured on a terminal."""

    def __init__(self, names: Sequence[str], stream: TextIO) -> None:
        self.stream = stream
        self.width = max((len(name) for name in names), default=0)
        colours = stream.isatty() and "NO_COLOR" not in os.environ
        self.colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)} if colours else {}

    def line(self, name: str, text: str) -> None:
        prefix = f"{name:<{self.width}} |"
        if colour := self.colours.get(name):
            prefix = f"\x1b[{colour}m{prefix}\x1b[0m"
        # A closed pipe or terminal must not keep the supervisor from stopping its programs.
        with suppress(OSError, ValueError):
            self.stream.write(f"{prefix} {text}\n")
            self.stream.flush()


class Supervisor:
    """Runs programs until it is told to stop, or until an essential one cannot be kept alive."""

    def __init__(
        self, programs: Sequence[Program], *, stream: TextIO | None = None, grace: float = GRACE_SECONDS
    ) -> None:
        self.programs = programs
        self.grace = grace
        self.output = Output([*(program.name for program in programs), "tourney"], stream or sys.stdout)
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.healthy = {program.name: asyncio.Event() for program in programs}
        self.stopping = asyncio.Event()
        self.exit_code = 0

    def say(self, text: str) -> None:
        self.output.line("tourney", text)

    async def run(self, on_ready: Callable[[], Awaitable[None]] | None = None) -> int:
        """Keep everything running; return 0 after a stop that was asked for, 1 after giving up.

        `on_ready` is awaited once, when every essential program that has a health check is healthy; should it fail,
        everything stops.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop, number)
        self.guard = Guard(self.grace)
        tasks = [asyncio.create_task(self._keep(program)) for program in self.programs]
        tasks += [asyncio.create_task(self._watch(program)) for program in self.programs if program.health]
        if on_ready:
            tasks.append(asyncio.create_task(self._announce(on_ready)))
        try:
            await self.stopping.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._stop_all()
            self.guard.dismiss()
        return self.exit_code

    def stop(self, number: int | None = None) -> None:
        """Begin to stop; the second Ctrl-C no longer waits for anybody."""
        if self.stopping.is_set():
            self._signal_all(signal.SIGKILL)
        elif number is not None:
            self.say("Stopping …")
        self.stopping.set()

    async def _keep(self, program: Program) -> None:
        if program.waits_for:
            await self.healthy[program.waits_for].wait()
        delay, deaths = FIRST_DELAY_SECONDS, 0
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            how = await self._run_once(program)
            if how == STOPS_FOR_GOOD:
                return self._give_up(program, "it cannot run here; its last line says why")
            if loop.time() - began >= STABLE_SECONDS:
                delay, deaths = FIRST_DELAY_SECONDS, 0
            deaths += 1
            if deaths >= QUICK_DEATHS:
                return self._give_up(program, f"it ended {deaths} times in a row; its lines above say why")
            self.say(f"{program.name} ended ({describe(how)}); starting it again in {delay:g} s.")
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY_SECONDS)

    async def _run_once(self, program: Program) -> int:
        """Start it, show its lines, return its exit status (negative: the signal that ended it)."""
        try:
            process = await asyncio.create_subprocess_exec(
                *program.command,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **program.environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self.output.line(program.name, str(error))
            return STOPS_FOR_GOOD
        self.guard.tell("+", process.pid)
        self.processes[program.name] = process
        lines = asyncio.create_task(self._show(program.name, process))
        how = await process.wait()
        # Its own children may hold the pipe open, so what is left to read gets a moment, not for ever.
        await asyncio.wait([lines], timeout=0.5)
        lines.cancel()
        signal_group(process.pid, signal.SIGKILL)
        self.guard.tell("-", process.pid)
        del self.processes[program.name]
        await self._health_is(program, False)
        return how

    async def _show(self, name: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        rest = b""
        while chunk := await process.stdout.read(LONGEST_LINE):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > LONGEST_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self.output.line(name, line.decode(errors="replace").rstrip("\r"))
        if rest:
            self.output.line(name, rest.decode(errors="replace"))

    async def _watch(self, program: Program) -> None:
        assert program.health is not None
        while True:
            alive = program.name in self.processes
            await self._health_is(program, alive and await program.health())
            # Until it is up, look often: what waits for it should not wait for our nap.
            await asyncio.sleep(HEALTH_SECONDS if self.healthy[program.name].is_set() else 0.1)

    async def _health_is(self, program: Program, healthy: bool) -> None:
        event = self.healthy[program.name]
        if event.is_set() == healthy:
            return
        event.set() if healthy else event.clear()
        if program.on_health:
            try:
                await program.on_health(healthy)
            except Exception as error:  # whatever it is, the programs must go on
                self.say(f"The change of {program.name}'s health could not be noted: {error}")

    async def _announce(self, on_ready: Callable[[], Awaitable[None]]) -> None:
        for program in self.programs:
            if program.health and program.is_essential:
                await self.healthy[program.name].wait()
        try:
            await on_ready()
        except Exception:
            for line in traceback.format_exc().splitlines():
                self.say(line)
            self.exit_code = 1
            self.stop()

    def _give_up(self, program: Program, reason: str) -> None:
        if program.is_essential:
            self.say(f"{program.name} is given up: {reason}. Everything stops.")
            self.exit_code = 1
            self.stop()
        else:
            self.say(f"{program.name} is given up: {reason}. The others go on without it.")

    async def _stop_all(self) -> None:
        for program in self.programs:
            await self._health_is(program, False)
        self._signal_all(signal.SIGTERM)
        waits = [asyncio.create_task(process.wait()) for process in self.processes.values()]
        if waits:
            await asyncio.wait(waits, timeout=self.grace)
            for name, process in self.processes.items():
                if process.returncode is None:
                    self.say(f"{name} did not stop within {self.grace:g} s and is killed.")
        self._signal_all(signal.SIGKILL)
        await asyncio.gather(*waits)

    def _signal_all(self, number: signal.Signals) -> None:
        for process in self.processes.values():
            signal_group(process.pid, number)
