"""The WebSocket of a conversation. It only shows: what a person does comes by the API."""

import asyncio
from typing import Any, cast
from uuid import UUID

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer

from accounts.models import User
from common.errors import NotFound, TooMany, TourneyError
from common.limits import TokenBucket
from conversations import events
from conversations.feed import ConversationFeed
from conversations.notices import group_of

FRAMES_AT_ONCE = 20
FRAMES_A_SECOND = 5.0
CLOSE_LOGGED_OUT = 4401
CLOSE_NOT_YOURS = 4404


class ConversationConsumer(AsyncWebsocketConsumer):
    """One window on one conversation."""

    async def connect(self) -> None:
        self.conversation_id: UUID = self.scope["url_route"]["kwargs"]["conversation_id"]
        self.bucket = TokenBucket(capacity=FRAMES_AT_ONCE, rate=FRAMES_A_SECOND)
        self.outbox: asyncio.Queue[events.ServerFrame] = asyncio.Queue()
        self.sender: asyncio.Task[None] | None = None
        user = cast(User, self.scope["user"])
        self.feed = ConversationFeed(conversation_id=self.conversation_id, viewer=user, send=self.outbox.put_nowait)
        # Accepted first, so that the page learns why it is closed: a browser hides the reason of a refused handshake.
        await self.accept()
        if not user or user.is_anonymous:
            await self.close(code=CLOSE_LOGGED_OUT)
            return
        await self.channel_layer.group_add(group_of(self.conversation_id), self.channel_name)
        try:
            await self.feed.open()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)
            return
        self.sender = asyncio.create_task(self._send_all())

    async def dispatch(self, message: Any) -> None:
        """Without closing the database connection first, as Channels would: see `in_database_thread`."""
        await getattr(self, get_handler_name(message))(message)

    async def disconnect(self, code: int) -> None:
        if self.sender:
            self.sender.cancel()
        await self.feed.close()
        await self.channel_layer.group_discard(group_of(self.conversation_id), self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.sender is None:  # being closed: this conversation is not this person's
            return
        try:
            if not self.bucket.take():
                raise TooMany
            events.parse(text_data or "")
            self.outbox.put_nowait(events.Pong())
            if self.feed.is_elsewhere:
                await self.feed.refresh()
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
