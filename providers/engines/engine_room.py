"""Runs the engines of this machine and watches those of others: one keeper for each row, what they say stored."""

import asyncio
import contextlib
import fcntl
import logging
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from time import monotonic

from django.db import Error
from django.utils import timezone

from common.database import in_database_thread
from common.processes import Guard
from providers.engines.gpus import gpus_note
from providers.engines.keeper import Keeper, Ways
from providers.engines.models import Engine
from providers.engines.process import GRACE_SECONDS
from providers.engines.services import engine_note, engines_put_to_sleep
from providers.engines.sharing import Sharer, decide
from providers.engines.states import Report, Wanted

log = logging.getLogger(__name__)

TOLD_AT_LEAST_EVERY_SECONDS = 5.0


class AlreadyRunning(RuntimeError):
    """Another process looks after this machine's engines."""


@contextlib.contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Raises AlreadyRunning while another holds it; the lock ends with its process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyRunning("The engines of this machine are looked after by another process already.") from None
        yield


class EngineRoom:
    """`run` returns after `stop`, when every engine of ours has ended."""

    def __init__(self, ways: Ways, say: Callable[[str], None]) -> None:
        self.ways = ways
        self.say = say
        self.keepers: dict[str, Keeper] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.said: dict[str, Report] = {}  # what is not stored yet
        self.stored: dict[str, tuple[float, Report]] = {}
        self.stopping = asyncio.Event()
        self.gpus: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)

    def stop(self) -> None:
        self.stopping.set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop)
        self.guard = Guard(GRACE_SECONDS)
        try:
            while not self.stopping.is_set():
                await self._look()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self.ways.look_seconds):
                        await self.stopping.wait()
        finally:
            await self._end(list(self.tasks))
            with contextlib.suppress(Error):
                await self._store()
            self.guard.dismiss()

    async def _look(self) -> None:
        """What is wanted comes from the database; should that be away, the engines go on as they are."""
        try:
            rows = await in_database_thread(lambda: list(Engine.objects.all()))()
            await self._follow(rows)
            await self._store()
        except Error as error:
            log.error("The engines cannot be read or noted: %s", error)

    async def _follow(self, rows: list[Engine]) -> None:
        specs = {row.slug: row.spec for row in rows}
        gone = [slug for slug, keeper in self.keepers.items() if specs.get(slug) != keeper.spec]
        await self._end([slug for slug in gone if not self.keepers[slug].may_answer])
        for row in rows:
            if row.slug not in self.keepers:
                self._begin(row)
        staying = {row.slug: row for row in rows if self.keepers[row.slug].spec == row.spec}
        ours = [keeper for keeper in self.keepers.values() if keeper.spec.is_ours]
        decided = decide([self._sharer(keeper, staying.get(keeper.spec.slug)) for keeper in ours], monotonic())
        for slug, wanted in decided.wanted.items():
            self.keepers[slug].want(wanted)
        if decided.displaced:
            asked = {slug: staying[slug].wanted_at for slug in decided.displaced}
            await in_database_thread(engines_put_to_sleep)(asked=asked)

    def _begin(self, row: Engine) -> None:
        slug = row.slug

        def note(report: Report) -> None:
            before = self.said.get(slug) or (self.stored[slug][1] if slug in self.stored else None)
            if before is None or (before.state, before.reason) != (report.state, report.reason):
                self.say(f"{slug}: {report.state}{f'. {report.reason}' if report.reason else ''}")
            self.said[slug] = report

        keeper = Keeper(row.spec, self.ways, self.guard, note, lambda: self._room(slug))
        self.keepers[slug] = keeper
        self.tasks[slug] = asyncio.create_task(keeper.run())

    @contextlib.asynccontextmanager
    async def _room(self, slug: str) -> AsyncIterator[None]:
        """One at a time starts or wakes on each GPU; the locks are taken in order, so that nobody waits in a circle."""
        every = {gpu for keeper in self.keepers.values() for gpu in gpus_of(keeper.spec.gpus)} | {0}
        async with contextlib.AsyncExitStack() as stack:
            for gpu in sorted(gpus_of(self.keepers[slug].spec.gpus) or every):
                await stack.enter_async_context(self.gpus[gpu])
            yield

    def _sharer(self, keeper: Keeper, row: Engine | None) -> Sharer:
        """One without a row is to go: it finishes what it answers, and holds its memory as long."""
        return Sharer(
            slug=keeper.spec.slug,
            gpus=gpus_of(keeper.spec.gpus),
            share=keeper.spec.memory_share,
            wanted=Wanted(row.desired) if row else Wanted.STOPPED,
            wanted_at=row.wanted_at if row else timezone.now(),
            state=keeper.now.state,
            state_since=keeper.since,
        )

    async def _end(self, slugs: list[str]) -> None:
        """Engines that are gone from the table, were changed there, or are not wanted any more."""
        tasks = [self.tasks.pop(slug) for slug in slugs]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for slug in slugs:
            del self.keepers[slug]

    async def _store(self) -> None:
        """What is news at once, and the rest from time to time: one that has nothing to say is looked after, too."""
        quiet = {slug: keeper.now for slug, keeper in self.keepers.items() if slug in self.stored}
        for slug, report in (quiet | self.said).items():
            at, before = self.stored.get(slug, (-TOLD_AT_LEAST_EVERY_SECONDS, None))
            is_news = before is None or (before.state, before.reason) != (report.state, report.reason)
            if is_news or monotonic() - at >= TOLD_AT_LEAST_EVERY_SECONDS or self.stopping.is_set():
                await in_database_thread(engine_note)(slug=slug, report=report)
                self.stored[slug] = (monotonic(), report)
                if self.said.get(slug) is report:
                    del self.said[slug]


def gpus_of(text: str) -> frozenset[int]:
    return frozenset(int(one) for one in text.split(",") if one)


def run(ways: Ways) -> None:
    """Until SIGTERM or Ctrl-C. Raises AlreadyRunning."""
    with only_one(ways.folder):
        gpus_note(ways.folder)
        asyncio.run(EngineRoom(ways, lambda line: print(line, flush=True, file=sys.stdout)).run())
