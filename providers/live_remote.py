"""The part of `live` that crosses processes, through the cache and the channel layer; idle where there is only one.

The owner of a generation writes its channel's name into the cache and renews it while it lives. A viewer elsewhere
asks there, gets the view, and then the updates, which are sent to that viewer's own channel: a generation that nobody
watches from another process costs nothing. An owner that dies stops renewing, and its generations count as dead.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol
from uuid import UUID, uuid4
from weakref import WeakKeyDictionary

import msgspec
from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.core.cache import cache

from common.aio import spawn
from providers.live_types import Block, Delta, Ended, GenerationRecord, LiveView, Reasoning, Update, Viewer

logger = logging.getLogger(__name__)

OWNED = timedelta(seconds=30)
RENEWED = timedelta(seconds=8)
ANSWERED = timedelta(seconds=3)


class Generation(Protocol):
    """What this module needs of a generation that is written here."""

    def attach(self, viewer: Viewer) -> LiveView: ...
    def detach(self, viewer: Viewer) -> None: ...
    def stop(self) -> None: ...


@dataclass(eq=False)
class RemoteView:
    """One viewer's look at a generation of another process."""

    id: UUID
    viewer: Viewer
    owner: str
    key: str = field(default_factory=lambda: uuid4().hex)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    view: LiveView | None = None


_UPDATES: dict[str, Any] = {"Delta": Delta, "Reasoning": Reasoning, "Block": Block, "Ended": Ended}


def is_needed() -> bool:
    """Whether there may be other processes: the channel layer reaches them."""
    return not isinstance(get_channel_layer(), InMemoryChannelLayer)


def _name(id: UUID) -> str:
    return f"live:{id.hex}"


class Post:
    """This process's own channel on one event loop: hears requests for what it owns, and updates of what it watches."""

    def __init__(self) -> None:
        self.layer = get_channel_layer()
        self.channel = ""
        self.owned: Mapping[UUID, Generation] = {}
        self.watched: dict[str, RemoteView] = {}
        self.served: dict[str, tuple[UUID, Viewer]] = {}
        self._is_open = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        async with self._is_open:
            if not self.channel:
                self.channel = await self.layer.new_channel("live")
                self._begin(self._listen())
                self._begin(self._renew())

    def _begin(self, coroutine: Any) -> None:
        task = spawn(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def claim(self, id: UUID) -> None:
        await self.open()
        if id in self.owned:
            await cache.aset(_name(id), self.channel, timeout=OWNED.total_seconds())

    async def release(self, id: UUID) -> None:
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
        held = await cache.aget_many([_name(remote.id) for remote in views]) if views else {}
        for remote in views:
            if _name(remote.id) not in held and self.watched.pop(remote.key, None):
                remote.viewer(Ended(remote.id, "", GenerationRecord(status="interrupted")))

    async def _listen(self) -> None:
        while True:
            message = await self.layer.receive(self.channel)
            try:
                await getattr(self, f"_on_{message['type'].removeprefix('live.')}")(message)
            except Exception:  # one bad message must not end the post
                logger.exception("A message on the live channel failed")

    async def send(self, channel: str, kind: str, **content: Any) -> None:
        await self.layer.send(channel, {"type": f"live.{kind}", **content})

    # --- as owner ---

    async def _on_attach(self, message: dict[str, Any]) -> None:
        id, key, back = UUID(message["id"]), message["key"], message["back"]
        generation = self.owned.get(id)
        if generation is None:
            await self.send(back, "view", key=key, view=None)
            return
        outbox: asyncio.Queue[Update] = asyncio.Queue()
        view = generation.attach(outbox.put_nowait)
        self.served[key] = (id, outbox.put_nowait)
        await self.send(back, "view", key=key, view=msgspec.to_builtins(view))
        self._begin(self._serve(outbox, back, key))

    async def _serve(self, outbox: asyncio.Queue[Update], back: str, key: str) -> None:
        while key in self.served:
            update = await outbox.get()
            kind = type(update).__name__
            await self.send(back, "update", key=key, kind=kind, update=msgspec.to_builtins(update))
            if isinstance(update, Ended):
                self.served.pop(key, None)

    async def _on_detach(self, message: dict[str, Any]) -> None:
        id, viewer = self.served.pop(message["key"], (None, None))
        if id and viewer and (generation := self.owned.get(id)):
            generation.detach(viewer)

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
                self.watched.pop(remote.key, None)
            remote.viewer(update)


_posts: WeakKeyDictionary[asyncio.AbstractEventLoop, Post] = WeakKeyDictionary()
_claims: set[asyncio.Task[None]] = set()


def _post() -> Post:
    return _posts.setdefault(asyncio.get_running_loop(), Post())


def _later(coroutine: Any) -> None:
    task = spawn(coroutine)
    _claims.add(task)
    task.add_done_callback(_claims.discard)


def announce(id: UUID, owned: Mapping[UUID, Generation]) -> None:
    """Say that this process writes `id`; `owned` is its own registry."""
    if is_needed():
        post = _post()
        post.owned = owned
        _later(post.claim(id))


def withdraw(id: UUID) -> None:
    if is_needed():
        _later(_post().release(id))


async def attach(id: UUID, viewer: Viewer) -> RemoteView | None:
    """Ask the owner of `id`, if there is one that answers."""
    if not is_needed() or not (owner := await cache.aget(_name(id))):
        return None
    post = _post()
    await post.open()
    remote = RemoteView(id, viewer, owner)
    post.watched[remote.key] = remote
    await post.send(owner, "attach", id=str(id), key=remote.key, back=post.channel)
    try:
        async with asyncio.timeout(ANSWERED.total_seconds()):
            await remote.ready.wait()
    except TimeoutError:
        pass
    if remote.view is None:
        post.watched.pop(remote.key, None)
        return None
    return remote


async def detach(remote: RemoteView) -> None:
    post = _post()
    if post.watched.pop(remote.key, None):
        await post.send(remote.owner, "detach", key=remote.key)


async def stop(id: UUID) -> bool:
    if not is_needed() or not (owner := await cache.aget(_name(id))):
        return False
    await _post().send(owner, "stop", id=str(id))
    return True


def alive(ids: Iterable[UUID]) -> set[UUID]:
    if not is_needed():
        return set()
    names = {_name(id): id for id in ids}
    return {names[name] for name in cache.get_many(list(names))} if names else set()
