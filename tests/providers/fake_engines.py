"""Engines for tests: the fake vLLM behind a script that stands for the interpreter."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from common.processes import Guard
from providers.engines.keeper import Keeper, Ways
from providers.engines.states import Report, State, Wanted
from providers.engines.vllm import Spec
from tests.ports import free_port


def interpreter(folder: Path) -> str:
    """A program that takes what an interpreter with vLLM would take."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\ncd "{settings.BASE_DIR}" && exec "{sys.executable}" -m tests.fakes.vllm "$@"\n')
    path.chmod(0o755)
    return str(path)


def ways(folder: Path, **more: Any) -> Ways:
    quick: dict[str, Any] = {"look_seconds": 0.05, "first_delay_seconds": 0.1, "drain_seconds": 20, "start_seconds": 30}
    return Ways(folder=folder / "engines", python=interpreter(folder), **quick | more)


def spec(model: str, **more: Any) -> Spec:
    fields: dict[str, Any] = {"slug": model, "model": model, "served_as": model, "port": free_port()} | more
    return Spec(**fields)


class Kept:
    """A keeper and what it has said."""

    def __init__(self, spec: Spec, ways: Ways, guard: Guard) -> None:
        self.reports: list[Report] = []
        self.keeper = Keeper(spec, ways, guard, self.reports.append)

    @property
    def now(self) -> Report:
        return self.keeper.now

    def states(self) -> list[State]:
        """Every state in its order, once."""
        found: list[State] = []
        for report in self.reports:
            if not found or found[-1] is not report.state:
                found.append(report.state)
        return found

    async def until(self, condition: Callable[[Report], bool]) -> Report:
        async with asyncio.timeout(30):
            while not condition(self.now):  # noqa: ASYNC110 - it is looked at from outside, as the engine room does
                await asyncio.sleep(0.02)
        return self.now

    async def state(self, state: State) -> Report:
        return await self.until(lambda report: report.state is state)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@asynccontextmanager
async def kept(spec: Spec, ways: Ways, wanted: Wanted = Wanted.AWAKE) -> AsyncIterator[Kept]:
    guard = Guard(1.0)
    one = Kept(spec, ways, guard)
    one.keeper.want(wanted)
    task = asyncio.create_task(one.keeper.run())
    try:
        yield one
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        guard.dismiss()


async def _until_killed(folder: Path, port: int) -> None:
    async with kept(spec("plain", port=port), ways(folder)) as engine:
        await engine.state(State.READY)
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_until_killed(Path(sys.argv[1]), int(sys.argv[2])))
