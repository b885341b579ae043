"""Looks after one engine: starts, watches, drains, puts to sleep, wakes and restarts it until it is told to stop.

No Django and no database: what is wanted is set from outside, how it is goes out as Reports.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

import httpx2

from common.processes import Guard, describe
from providers.engines.embedded import port_is_taken
from providers.engines.log_reasons import cache_tokens_in, reason_in
from providers.engines.process import EngineProcess
from providers.engines.states import Report, State, Wanted
from providers.engines.vllm import Control, Load, Spec, command_of, environment_of

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0  # between two looks at an engine
LOST_LOOKS = 10  # an engine whose process lives and that is not well for so many looks is restarted
FIRST_DELAY_SECONDS = 2.0  # before the first restart; doubles with every failure
LONGEST_DELAY_SECONDS = 300.0
STABLE_SECONDS = 120.0  # an engine that was ready for so long may start over with the first delay
TAIL_SHOWN = 60

Room = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(frozen=True)
class Ways:
    """How engines are run on this machine."""

    folder: Path  # logs and caches
    python: str = ""
    start_seconds: float = 1800.0  # from the start of the process to its first healthy answer
    drain_seconds: float = 120.0  # what is still being answered after that is cut off
    is_offline: bool = False
    look_seconds: float = LOOK_SECONDS
    first_delay_seconds: float = FIRST_DELAY_SECONDS


class Failure(Exception):
    """It cannot go on; the message is the reason in words."""


@dataclass
class Keeper:
    """`room` is held while it starts or wakes: engines of one GPU do so one after the other, for vLLM measures the
    memory that is free."""

    spec: Spec
    ways: Ways
    guard: Guard
    report: Callable[[Report], None]
    room: Room = nullcontext
    wanted: Wanted = Wanted.STOPPED
    now: Report = field(default_factory=lambda: Report(State.STOPPED))
    since: float = field(default_factory=monotonic)  # when it came into the state that it is in

    def __post_init__(self) -> None:
        self._changed = asyncio.Event()
        self._process = EngineProcess(self.ways.folder / f"{self.spec.slug}.log", self.guard)
        self._control = Control(self.spec)
        self._delay = self.ways.first_delay_seconds

    def want(self, wanted: Wanted) -> None:
        if wanted is not self.wanted:
            self.wanted = wanted
            self._delay = self.ways.first_delay_seconds  # whoever asks anew need not wait for our patience
            self._changed.set()

    @property
    def may_answer(self) -> bool:
        """Whether to end it now could cut off an answer of an engine of ours."""
        return self.spec.is_ours and self.now.state in (State.READY, State.DRAINING)

    async def run(self) -> None:
        """Until it is cancelled; then the engine is stopped."""
        try:
            while True:
                try:
                    await (self._keep() if self.spec.is_ours else self._watch())
                except Failure as failure:
                    await self._rest(str(failure))
                except Exception as error:  # a defect of ours must be seen, and leave nobody without a keeper
                    log.exception("The keeper of engine %s failed", self.spec.slug)
                    await self._process.stop()
                    await self._rest(f"Its keeper failed: {error!r}.")
        finally:
            await asyncio.shield(self._end())

    async def _end(self) -> None:
        await self._process.stop()
        await self._control.close()
        self._say(State.STOPPED)

    # --- engines of other machines ---

    async def _watch(self) -> None:
        if await self._control.is_healthy():
            if await self._asked_whether_asleep():  # nobody would wake it
                self._say(State.UNREACHABLE, "It sleeps; wake it on its own machine.")
            else:
                self._say(State.READY, load=await self._load())
        else:
            self._say(State.UNREACHABLE, f"{self.spec.url} does not answer.")
        await self._nap(self.ways.look_seconds * 5)

    async def _asked_whether_asleep(self) -> bool:
        try:
            return await self._control.is_sleeping()
        except (httpx2.HTTPError, ValueError):
            return False

    # --- our own ---

    async def _keep(self) -> None:
        self._changed.clear()
        if self.wanted is Wanted.STOPPED:
            await self._process.stop()
            self._say(State.STOPPED)
            await self._nap()
        elif self.wanted is Wanted.ASLEEP and not self._process.is_running():
            self._say(State.ASLEEP, "It is not loaded; it starts when it is asked.")
            await self._nap()
        else:
            if self._process.is_running() or await self._start():
                await self._live()

    async def _start(self) -> bool:
        """Whether it was started: it may be told otherwise while it waits for room. Raises Failure with the reason in
        words."""
        self._say(State.WAKING if self.now.state is State.ASLEEP else State.STARTING)
        async with self.room():
            if self.wanted is not Wanted.AWAKE:
                return False
            if port_is_taken(self.spec.host, self.spec.port):  # said now, and not after minutes of loading
                raise Failure(f"The port {self.spec.port} is taken by another program.")
            spec = replace(self.spec, python=self.ways.python)
            environment = environment_of(spec, self.ways.folder / "cache", is_offline=self.ways.is_offline)
            try:
                await self._process.start(command_of(spec), environment)
            except OSError as error:
                raise Failure(f"vLLM cannot be run: {error.strerror} ({error.filename or spec.python}).") from None
            await self._until_healthy()
        self.now = replace(self.now, cache_tokens=self._cache_tokens())
        self._say(State.READY)
        return True

    async def _until_healthy(self) -> None:
        late = asyncio.get_running_loop().time() + self.ways.start_seconds
        while not await self._control.is_healthy():
            if not self._process.is_running():
                raise Failure(await self._why())
            if self.wanted is Wanted.STOPPED:
                await self._process.stop()
                raise Failure("")
            if asyncio.get_running_loop().time() > late:
                await self._process.stop()
                reason = reason_in(self._process.tail)
                raise Failure(f"It was not ready within {self.ways.start_seconds:g} s. {reason}".strip())
            self._say(self.now.state)
            await asyncio.sleep(self.ways.look_seconds)

    async def _why(self) -> str:
        how = await self._process.ended()
        return reason_in(self._process.tail) or f"It ended with {describe(how)} and without a word."

    async def _live(self) -> None:
        """Watch it until something else is wanted or it fails."""
        lost, since = 0, asyncio.get_running_loop().time()
        while self._process.is_running():
            if self.wanted is Wanted.STOPPED:
                await self._drain()
                await self._process.stop()
                return
            if self.wanted is Wanted.ASLEEP and self.now.state is not State.ASLEEP:
                await self._sleep()
                if not self._process.is_running():
                    return
            elif self.wanted is Wanted.AWAKE and self.now.state is State.ASLEEP:
                await self._wake()
            healthy = await self._control.is_healthy()
            lost = 0 if healthy else lost + 1
            if lost >= LOST_LOOKS:
                await self._process.stop()
                raise Failure("It no longer answered, and was stopped.")
            if asyncio.get_running_loop().time() - since > STABLE_SECONDS:
                self._delay = self.ways.first_delay_seconds
                self.now = replace(self.now, restarts=0)
            self._say(self.now.state, self._process.cannot_log, load=await self._load())
            await self._nap()
        raise Failure(await self._why())

    async def _sleep(self) -> None:
        await self._drain()
        if not self._process.is_running():
            raise Failure(await self._why())
        if self.wanted is not Wanted.ASLEEP:  # asked again meanwhile: nothing was lost
            return self._say(State.READY)
        if not self.spec.sleep_level:
            await self._process.stop()
            return self._say(State.ASLEEP, "It is not loaded; it starts when it is asked.")
        try:
            await self._control.sleep(self.spec.sleep_level)
        except httpx2.HTTPError as error:
            if not self._process.is_running():
                raise Failure(await self._why()) from None
            await self._process.stop()  # its memory is wanted by another
            raise Failure(f"It could not be put to sleep, and was stopped: {error}") from None
        self._say(State.ASLEEP)

    async def _wake(self) -> None:
        self._say(State.WAKING)
        async with self.room():
            if self.wanted is not Wanted.AWAKE:  # told otherwise while it waited: the memory is another's now
                return self._say(State.ASLEEP)
            try:
                await self._control.wake(self.spec.sleep_level)
            except httpx2.HTTPError as error:
                if not self._process.is_running():
                    raise Failure(await self._why()) from None
                await self._process.stop()
                reason = reason_in(list(self._process.tail)[-TAIL_SHOWN:])
                raise Failure(f"It did not wake, and was stopped. {reason or error}") from None
        self._say(State.READY)

    async def _drain(self) -> None:
        """Wait for what it still answers; whoever asks now goes elsewhere or waits, for the state is told first."""
        self._say(State.DRAINING)
        late = asyncio.get_running_loop().time() + self.ways.drain_seconds
        await asyncio.sleep(self.ways.look_seconds)  # for those who looked just before
        while self._process.is_running() and asyncio.get_running_loop().time() < late:
            load = await self._load()
            if not load.running + load.waiting or self.wanted is Wanted.AWAKE:
                return
            self._say(State.DRAINING, load=load)
            await asyncio.sleep(self.ways.look_seconds)

    async def _rest(self, reason: str) -> None:
        if not reason:  # it was stopped while it started
            return
        self.now = replace(self.now, restarts=self.now.restarts + 1)
        self._say(State.FAILED, f"{reason} It is started again in {self._delay:g} s.")
        log.warning("Engine %s: %s", self.spec.slug, reason)
        delay, self._delay = self._delay, min(self._delay * 2, LONGEST_DELAY_SECONDS)
        await self._nap(delay)

    # --- small things ---

    async def _load(self) -> Load:
        try:
            return await self._control.load()
        except (httpx2.HTTPError, ValueError):
            return Load()

    def _cache_tokens(self) -> int | None:
        found = [tokens for line in self._process.tail if (tokens := cache_tokens_in(line))]
        return found[-1] if found else None

    def _say(self, state: State, reason: str = "", *, load: Load | None = None) -> None:
        load = load or Load()
        if state is not self.now.state:
            self.since = monotonic()
        self.now = replace(
            self.now,
            state=state,
            reason=reason,
            running=load.running,
            waiting=load.waiting,
            cache_used=load.cache_used,
            log_tail="\n".join(list(self._process.tail)[-TAIL_SHOWN:]),
        )
        self.report(self.now)

    async def _nap(self, seconds: float | None = None) -> None:
        """Until something else is wanted, or for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds or self.ways.look_seconds):
                await self._changed.wait()
        self._changed.clear()
