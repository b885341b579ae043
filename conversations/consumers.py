"""The WebSocket of a conversation. It only shows: what a person does comes by the API."""

import asyncio
import logging
from typing import Any, cast
from uuid import UUID

from accounts.models import User
from accounts.sockets import CLOSE_NOT_YOURS, SessionConsumer
from common.errors import NotFound, TooMany, TourneyError
from common.limits import TokenBucket
from conversations import events
from conversations.feed import ConversationFeed
from conversations.notices import group_of

logger = logging.getLogger(__name__)

FRAMES_AT_ONCE = 20
FRAMES_A_SECOND = 5.0
# How often a conversation that a worker plays is looked at: what is written there may not be heard here.
LOOK_SECONDS = 1.0
LOOK_SECONDS_OTHERWISE = 5.0


class ConversationConsumer(SessionConsumer):
    """One window on one conversation."""

    async def connect(self) -> None:
        self.conversation_id: UUID = self.scope["url_route"]["kwargs"]["conversation_id"]
        self.bucket = TokenBucket(capacity=FRAMES_AT_ONCE, rate=FRAMES_A_SECOND)
        self.outbox: asyncio.Queue[events.ServerFrame] = asyncio.Queue()
        self.sender: asyncio.Task[None] | None = None
        self.looker: asyncio.Task[None] | None = None
        user = cast(User, self.scope["user"])
        self.feed = ConversationFeed(conversation_id=self.conversation_id, viewer=user, send=self.outbox.put_nowait)
        if not await self.enter():
            return
        await self.channel_layer.group_add(group_of(self.conversation_id), self.channel_name)
        try:
            await self.feed.open()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)
            return
        self.sender = asyncio.create_task(self._send_all())
        self.looker = asyncio.create_task(self._look())

    async def disconnect(self, code: int) -> None:
        for task in (self.sender, self.looker):
            if task:
                task.cancel()
        await self.feed.close()
        await self.channel_layer.group_discard(group_of(self.conversation_id), self.channel_name)
        await self.leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.sender is None:  # being closed: this conversation is not this person's
            return
        try:
            if not self.bucket.take():
                raise TooMany
            events.parse(text_data or "")
            self.outbox.put_nowait(events.Pong())
        except TourneyError as error:
            self.outbox.put_nowait(events.Refused(error.code, str(error)))

    async def conversation_changed(self, message: dict[str, Any]) -> None:
        """A turn began or ended, or somebody did something."""
        if self.sender is None:
            return
        try:
            await self.feed.refresh()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)

    async def _send_all(self) -> None:
        while True:
            frame = await self.outbox.get()
            await self.send(text_data=events.encode(frame))

    async def _look(self) -> None:
        while True:
            is_blind = self.feed.is_busy and not self.feed.is_following
            await asyncio.sleep(LOOK_SECONDS if is_blind else LOOK_SECONDS_OTHERWISE)
            try:
                if self.feed.is_elsewhere:
                    await self.feed.refresh()
            except NotFound:
                await self.close(code=CLOSE_NOT_YOURS)
                return
            except Exception:  # the database may be away for a while
                logger.exception("Conversation %s could not be looked at", self.conversation_id)
