"""Generations that are being written now, in this process or another.

A generation belongs to the process that started it, not to a viewer: any number may look on and leave, and a closed
tab loses nothing. All functions but `alive` and `is_shared` are called on the event loop.
"""

import asyncio
from collections.abc import Iterable, Sequence
from uuid import UUID

from common import metrics
from providers import live_remote
from providers.adapters.base import Message, Priority, Target
from providers.kept_answers import KeptAnswer
from providers.live_generation import LiveGeneration
from providers.live_types import (
    Block,
    Delta,
    Ended,
    GenerationRecord,
    Instead,
    LiveView,
    Reasoning,
    Save,
    Update,
    Viewer,
    Waiting,
)

__all__ = [
    "Block", "Delta", "Ended", "GenerationRecord", "Instead", "LiveView", "Reasoning", "Save", "Update", "Viewer",
    "Waiting",
    "alive", "announce", "attach", "detach", "interrupt_all", "is_in_line", "is_shared", "start", "stop", "wait",
    "written",
]  # fmt: skip

_here: dict[UUID, LiveGeneration] = {}
_announced: dict[UUID, LiveGeneration] = {}  # those of them that other processes can see


def start(
    id: UUID,
    target: Target,
    messages: Sequence[Message],
    save: Save,
    *,
    instead: Instead | None = None,
    kept: KeptAnswer | None = None,
    priority: Priority = Priority.INTERACTIVE,
    is_announced: bool = True,
) -> None:
    """Begin to write. `save` gets a record now and then, and at the end before the viewers hear of it.

    `instead` may name somebody else to ask, as long as nothing has come; `kept` is an answer from the store, which is
    played again in place of asking anybody. One that is not announced cannot be seen from other processes before
    `announce`, and costs them nothing.
    """
    generation = LiveGeneration(
        id, target, messages, save,
        budget=lambda: len(_here), on_saved=_forget, instead=instead, kept=kept, priority=priority,
    )  # fmt: skip
    _here[id] = generation
    metrics.streams_open.inc()
    if is_announced:
        announce(id)
    generation.begin()


def announce(id: UUID) -> None:
    """Let other processes see what is written here; once is enough."""
    if id in _here and id not in _announced:
        _announced[id] = _here[id]
        live_remote.announce(id, _announced)


def _forget(id: UUID) -> None:
    if _here.pop(id, None):
        metrics.streams_open.dec()
    if _announced.pop(id, None):
        live_remote.withdraw(id)


def written(id: UUID) -> tuple[str, str]:
    """The text and the reasoning so far of what is written here; empty where nothing is."""
    return _here[id].written if id in _here else ("", "")


def is_in_line(id: UUID) -> bool:
    """Whether it is to be written here and still waits for a place."""
    return id in _here and _here[id].is_in_line


async def attach(id: UUID, viewer: Viewer) -> LiveView | None:
    """Look on: returns what there is, and `viewer` gets all that follows, nothing twice. None: nobody writes it."""
    if generation := _here.get(id):
        return generation.attach(viewer)
    return await live_remote.attach(id, viewer)


async def detach(id: UUID, viewer: Viewer) -> None:
    """Look away. Unknown ids are no error."""
    if generation := _here.get(id):
        generation.detach(viewer)
    else:
        await live_remote.detach(id, viewer)


async def stop(id: UUID) -> bool:
    """End it here and now, with the text so far. False: nobody writes it."""
    if generation := _here.get(id):
        generation.stop()
        return True
    return await live_remote.stop(id)


def is_shared() -> bool:
    """Whether processes know of each other what they write."""
    return live_remote.is_needed()


async def interrupt_all() -> None:
    """End all that is written in this process, with the text so far, and what is begun meanwhile; for a server that is
    being shut down."""
    while generations := list(_here.values()):
        for generation in generations:
            generation.stop("interrupted")
        await asyncio.gather(*(generation.ended.wait() for generation in generations))


async def wait(id: UUID) -> None:
    """Until it has ended and is stored; at once where nobody writes it."""
    if generation := _here.get(id):
        await generation.ended.wait()
        return
    ended = asyncio.Event()

    def viewer(update: Update) -> None:
        if isinstance(update, Ended):
            ended.set()

    if await attach(id, viewer):
        try:
            await ended.wait()
        finally:
            await detach(id, viewer)


def alive(ids: Iterable[UUID]) -> set[UUID]:
    """Those of `ids` that some process is writing. May be called from any thread; reads the cache for those that are
    not written here."""
    ids = set(ids)
    here = ids & _here.keys()
    return here | live_remote.alive(ids - here)
