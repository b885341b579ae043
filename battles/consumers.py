"""The WebSocket of a battle. It never streams inside `receive`: it follows live generations and passes frames on."""

import asyncio
import logging
from typing import Any, cast
from uuid import UUID

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.sessions import group_of_session, session_lives
from battles import events, generation, services
from battles.feed import BattleFeed
from battles.notices import group_of, viewers_tell
from battles.selectors import battle_whole
from common.aio import spawn
from common.database import in_database_thread
from common.errors import NotFound, TooMany, TourneyError
from common.limits import TokenBucket

logger = logging.getLogger(__name__)

FRAMES_AT_ONCE = 20
FRAMES_A_SECOND = 5.0
# Logging out is said at once; how else a session ends (it expires, the password changes) is looked up.
SESSION_CHECK_SECONDS = 60.0
CLOSE_LOGGED_OUT = 4401
CLOSE_NOT_YOURS = 4404


class BattleConsumer(AsyncWebsocketConsumer):
    """One window on one battle."""

    async def connect(self) -> None:
        self.user = cast(User, self.scope["user"])
        self.session_key: str = self.scope["session"].session_key or ""
        self.battle_id: UUID = self.scope["url_route"]["kwargs"]["battle_id"]
        self.bucket = TokenBucket(capacity=FRAMES_AT_ONCE, rate=FRAMES_A_SECOND)
        self.outbox: asyncio.Queue[events.ServerFrame] = asyncio.Queue()
        self.sender: asyncio.Task[None] | None = None
        self.watch: asyncio.Task[None] | None = None
        self.feed = BattleFeed(battle_id=self.battle_id, viewer=self.user, send=self.put)
        # Accepted first, so that the page learns why it is closed: a browser hides the reason of a refused handshake.
        await self.accept()
        if not self.scope["user"] or self.scope["user"].is_anonymous:
            await self.close(code=CLOSE_LOGGED_OUT)
            return
        for group in self._groups():
            await self.channel_layer.group_add(group, self.channel_name)
        try:
            await self.feed.open()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)
            return
        self.sender = asyncio.create_task(self._send_all())
        self.watch = spawn(self._watch_session())

    async def dispatch(self, message: Any) -> None:
        """Without closing the database connection first, as Channels would: see `in_database_thread`."""
        await getattr(self, get_handler_name(message))(message)

    async def disconnect(self, code: int) -> None:
        for task in (self.sender, self.watch):
            if task:
                task.cancel()
        await self.feed.close()
        if self.user.is_authenticated:
            for group in self._groups():
                await self.channel_layer.group_discard(group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.sender is None:  # being closed: this battle is not this person's
            return
        try:
            if not self.bucket.take():
                raise TooMany
            await self._handle(events.parse(text_data or ""))
        except TourneyError as error:
            self.put(events.Refused(error.code, str(error)))
        except Exception:  # a defect or a lost database must not cost the reader the stream of answers
            logger.exception("A frame on battle %s failed", self.battle_id)
            self.put(events.Refused("defect", _("Something broke on our side. Nothing was lost; try again.")))

    async def battle_changed(self, message: dict[str, Any]) -> None:
        """Another window, or a program, changed this battle."""
        if message["origin"] == self.channel_name:
            return
        try:
            await self.feed.open()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)

    async def session_over(self, message: dict[str, Any]) -> None:
        """The person has logged out."""
        await self.close(code=CLOSE_LOGGED_OUT)

    async def _watch_session(self) -> None:
        is_alive = True
        while is_alive:
            await asyncio.sleep(SESSION_CHECK_SECONDS)
            try:
                is_alive = await in_database_thread(session_lives)(session_key=self.session_key, user_id=self.user.pk)
            except Exception:  # the next look may find the database again
                logger.exception("A session could not be looked up")
        await self.close(code=CLOSE_LOGGED_OUT)

    def _groups(self) -> tuple[str, str]:
        return group_of(self.battle_id), group_of_session(self.session_key)

    def put(self, frame: events.ServerFrame) -> None:
        self.outbox.put_nowait(frame)

    async def _send_all(self) -> None:
        while True:
            frame = await self.outbox.get()
            await self.send(text_data=events.encode(frame))

    async def _handle(self, frame: events.ClientFrame) -> None:
        user = self.user
        match frame:
            case events.Prompt():
                begun = await in_database_thread(services.turn_begin)(
                    battle_id=self.battle_id, owner=user, prompt=frame.text, images=frame.images
                )
                await generation.launch(begun.requests)
                await self.feed.follow_turn(begun)
                await self._changed()
            case events.Stop():
                battle = await in_database_thread(battle_whole)(battle_id=self.battle_id, viewer=user)
                await generation.stop(generation.responses_live(battle, frame.side))
            case events.Regenerate():
                battle, request = await in_database_thread(services.response_regenerate)(
                    battle_id=self.battle_id, owner=user, label=frame.side
                )
                await generation.launch([request])
                await self.feed.follow_attempt(battle, request.response)
                await self._changed()
            case events.Preference():
                await in_database_thread(services.preference_record)(
                    battle_id=self.battle_id,
                    voter=user,
                    choice=frame.choice,
                    ranking=frame.ranking,
                    reasons=frame.reasons,
                    comment=frame.comment,
                )
                await self.feed.reveal()
                await self._changed()
            case events.Reaction():
                await in_database_thread(services.reaction_set)(
                    battle_id=self.battle_id, user=user, response_id=frame.response, value=frame.value
                )
                self.put(events.Reacted(str(frame.response), frame.value))
            case events.Ping():
                self.put(events.Pong())

    async def _changed(self) -> None:
        await viewers_tell(self.battle_id, origin=self.channel_name)
