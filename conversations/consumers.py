"""The WebSocket of a conversation. It only shows: what a person does comes by the API."""

import asyncio
import logging
from typing import Any, cast
from uuid import UUID

from accounts.models import User
from accounts.sockets import CLOSE_NOT_YOURS, FeedConsumer
from common.errors import NotFound
from common.frames import Pong
from conversations import events
from conversations.feed import ConversationFeed
from conversations.notices import group_of

logger = logging.getLogger(__name__)

# How often a conversation that a worker plays is looked at: what is written there may not be heard here.
LOOK_SECONDS = 1.0
LOOK_SECONDS_OTHERWISE = 5.0


class ConversationConsumer(FeedConsumer):
    """One window on one conversation."""

    feed: ConversationFeed
    looker: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        self.conversation_id: UUID = self.scope["url_route"]["kwargs"]["conversation_id"]
        user = cast(User, self.scope["user"])
        self.feed = ConversationFeed(conversation_id=self.conversation_id, viewer=user, send=self.put)
        self.group = group_of(self.conversation_id)
        await super().connect()
        if self.sender:
            self.looker = asyncio.create_task(self._look())

    async def disconnect(self, code: int) -> None:
        if self.looker:
            self.looker.cancel()
        await super().disconnect(code)

    async def hear(self, text: str) -> None:
        events.parse(text)
        self.put(Pong())

    async def conversation_changed(self, message: dict[str, Any]) -> None:
        """A turn began or ended, or somebody did something."""
        if self.sender is None:
            return
        try:
            await self.feed.refresh()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)

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
