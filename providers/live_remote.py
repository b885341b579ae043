"""The part of `live` that crosses processes, through the cache and the channel layer; idle where there is only one.

The owner of a generation writes its channel's name into the cache and renews it while it lives. A viewer elsewhere
asks there, gets the view, and then the updates, which are sent to that viewer's own channel: a generation that nobody
watches from another process costs nothing. An owner that dies stops renewing, and its generations count as dead.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID, uuid4

import msgspec
from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.core.cache import cache

from common.aio import PerLoop, spawn
from providers.live_types import Block, Delta, Ended, GenerationRecord, LiveView, Reasoning, Update, Viewer, Waiting

logger = logging.getLogger(__name__)

OWNED = timedelta(seconds=30)
RENEWED = timedelta(seconds=8)
ANSWERED = timedelta(seconds=4)
AGAIN_SECONDS = 1.0  # after the channel layer failed
DELIVERY_ATTEMPTS = 10  # then the viewer's process counts as gone
MISSED_LOOKS = 2  # so often an owner must be missing: the first time, its last update may be on the way


class Generation(Protocol):
    """What this module needs of a generation that is written here."""

    def attach(self, viewer: Viewer) -> LiveView: ...
    def detach(self, viewer: Viewer) -> None: ...
    def stop(self) -> None: ...


@dataclass(eq=False)
class RemoteView:
    """One viewer's look at a generation of another process. Updates are held until the viewer has the view."""

    id: UUID
    viewer: Viewer
    owner: str
    key: str = field(default_factory=lambda: uuid4().hex)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    view: LiveView | None = None
    held: list[Update] | None = field(default_factory=list)
    missed: int = 0

    def hear(self, update: Update) -> None:
        if self.held is None:
            self.viewer(update)
        else:
            self.held.append(update)

    def release(self) -> None:
        held, self.held = self.held or [], None
        for update in held:
            self.viewer(update)


_UPDATES: dict[str, Any] = {update.__name__: update for update in (Waiting, Delta, Reasoning, Block, Ended)}


def is_needed() -> bool:
    """Whether there may be other processes: the channel layer reaches them."""
    return not isinstance(get_channel_layer(), InMemoryChannelLayer)


def _name(id: UUID) -> str:
    return f"live:{id.hex}"


class Post:
    """This process's own channel on one event loop: hears requests for what it owns, and updates of what it watches."""

    def __init__(self) -> None:
        self.layer: Any = get_channel_layer()  # Redis's; the stubs know only the base class
        self.channel = ""
        self.owned: Mapping[UUID, Generation] = {}
        self.watched: dict[str, RemoteView] = {}
        self.served: dict[str, asyncio.Task[None]] = {}
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        async with self._opening:
            if not self.channel:
                # The prefix of all consumers: channels_redis reads one list a process, that of one prefix.
                self.channel = await self.layer.new_channel()
                self.begin(self._listen())
                self.begin(self._renew())

    def begin(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = spawn(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def claim(self, id: UUID) -> None:
        await self.open()
        if id in self.owned:
            await cache.aset(_name(id), self.channel, timeout=OWNED.total_seconds())

    async def withdraw(self, id: UUID) -> None:
        await cache.adelete(_name(id))

    async def _renew(self) -> None:
        """Keep what is owned here alive, and notice when another owner has died."""
        while True:
            await asyncio.sleep(RENEWED.total_seconds())
            try:
                names = {_name(id): self.channel for id in tuple(self.owned)}
                if names:
                    await cache.aset_many(names, timeout=OWNED.total_seconds())
                await self._end_orphans()
            except Exception:  # the cache may be away for a while; this must go on
                logger.exception("Renewing live generations failed")

    async def _end_orphans(self) -> None:
        views = list(self.watched.values())
        owners = await cache.aget_many([_name(remote.id) for remote in views]) if views else {}
        for remote in views:
            remote.missed = 0 if owners.get(_name(remote.id)) == remote.owner else remote.missed + 1
            if remote.missed >= MISSED_LOOKS and remote.key in self.watched:
                del self.watched[remote.key]
                remote.hear(Ended(remote.id, "", GenerationRecord(status="interrupted")))

    async def _listen(self) -> None:
        while True:
            try:
                message = await self.layer.receive(self.channel)
            except Exception:  # Redis may be away for a while
                logger.exception("Listening for live generations failed")
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            try:
                await getattr(self, f"_on_{message['type'].removeprefix('live.')}")(message)
            except Exception:  # one bad message or broken viewer must not end the post
                logger.exception("A message on the live channel failed")

    async def send(self, channel: str, about: str, **content: Any) -> None:
        await self.layer.send(channel, {"type": f"live.{about}", **content})

    # --- as owner ---

    async def _on_attach(self, message: dict[str, Any]) -> None:
        generation = self.owned.get(UUID(message["id"]))
        if generation is None:
            await self.send(message["back"], "view", key=message["key"], view=None)
        else:
            self.served[message["key"]] = self.begin(self._serve(generation, message["back"], message["key"]))

    async def _serve(self, generation: Generation, back: str, key: str) -> None:
        """Send the view, and every update after it."""
        outbox: asyncio.Queue[Update] = asyncio.Queue()
        viewer = outbox.put_nowait
        update: Update | None = None
        try:
            view = generation.attach(viewer)
            await self._deliver(back, "view", key=key, view=msgspec.to_builtins(view))
            while not isinstance(update, Ended):
                update = await outbox.get()
                kind, fields = type(update).__name__, msgspec.to_builtins(update)
                await self._deliver(back, "update", key=key, kind=kind, update=fields)
        finally:
            generation.detach(viewer)
            self.served.pop(key, None)

    async def _deliver(self, back: str, about: str, **content: Any) -> None:
        """A viewer's process that is behind is waited for. Raises what the layer raises when that does not help."""
        for _ in range(DELIVERY_ATTEMPTS - 1):
            try:
                return await self.send(back, about, **content)
            except Exception:  # its channel is full, or Redis is away for a while
                await asyncio.sleep(AGAIN_SECONDS)
        await self.send(back, about, **content)

    async def _on_detach(self, message: dict[str, Any]) -> None:
        if serving := self.served.get(message["key"]):
            serving.cancel()

    async def _on_stop(self, message: dict[str, Any]) -> None:
        if generation := self.owned.get(UUID(message["id"])):
            generation.stop()

    # --- as viewer ---

    async def _on_view(self, message: dict[str, Any]) -> None:
        if remote := self.watched.get(message["key"]):
            remote.view = message["view"] and msgspec.convert(message["view"], LiveView)
            remote.ready.set()

    async def _on_update(self, message: dict[str, Any]) -> None:
        if remote := self.watched.get(message["key"]):
            update: Update = msgspec.convert(message["update"], _UPDATES[message["kind"]])
            if isinstance(update, Ended):
                del self.watched[remote.key]
            remote.hear(update)

    async def forget(self, remote: RemoteView) -> None:
        if self.watched.pop(remote.key, None):
            await self.send(remote.owner, "detach", key=remote.key)


_posts = PerLoop(Post)


def announce(id: UUID, owned: Mapping[UUID, Generation]) -> None:
    """Say that this process writes `id`; `owned` is its own registry."""
    if is_needed():
        post = _posts.get()
        post.owned = owned
        post.begin(post.claim(id))


def withdraw(id: UUID) -> None:
    if is_needed():
        post = _posts.get()
        post.begin(post.withdraw(id))


async def attach(id: UUID, viewer: Viewer) -> LiveView | None:
    """Ask the owner of `id`, if there is one that answers."""
    if not is_needed() or not (owner := await cache.aget(_name(id))):
        return None
    post = _posts.get()
    await post.open()
    remote = RemoteView(id, viewer, owner)
    post.watched[remote.key] = remote
    try:
        await post.send(owner, "attach", id=str(id), key=remote.key, back=post.channel)
        async with asyncio.timeout(ANSWERED.total_seconds()):
            await remote.ready.wait()
    except TimeoutError:
        # Dead most likely. One that is only slow renews its claim, and its last save makes everything right.
        logger.warning("The owner of generation %s did not answer", id)
        await cache.adelete(_name(id))
    finally:
        if remote.view is None:
            await post.forget(remote)
    # The caller goes on with the view before the loop comes to this.
    asyncio.get_running_loop().call_soon(remote.release)
    return remote.view


async def detach(id: UUID, viewer: Viewer) -> None:
    if is_needed():
        post = _posts.get()
        for remote in [each for each in post.watched.values() if each.id == id and each.viewer == viewer]:
            await post.forget(remote)


async def stop(id: UUID) -> bool:
    if not is_needed() or not (owner := await cache.aget(_name(id))):
        return False
    await _posts.get().send(owner, "stop", id=str(id))
    return True


def alive(ids: Iterable[UUID]) -> set[UUID]:
    if not is_needed():
        return set()
    names = {_name(id): id for id in ids}
    return {names[name] for name in cache.get_many(list(names))} if names else set()
