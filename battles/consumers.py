"""The WebSocket of a battle. It never streams inside `receive`: it follows live generations and passes frames on."""

import asyncio
import logging
from typing import Any, cast
from uuid import UUID

from django.utils.translation import gettext as _

from accounts import proofs
from accounts.models import User
from accounts.sockets import CLOSE_NOT_YOURS, SessionConsumer
from battles import events, generation, services
from battles.feed import BattleFeed
from battles.notices import group_of, viewers_tell
from battles.selectors import battle_whole
from common.database import in_database_thread
from common.errors import NotFound, TooMany, TourneyError
from common.limits import TokenBucket
from common.outages import outage_of

logger = logging.getLogger(__name__)

FRAMES_AT_ONCE = 20
FRAMES_A_SECOND = 5.0


class BattleConsumer(SessionConsumer):
    """One window on one battle."""

    async def connect(self) -> None:
        self.battle_id: UUID = self.scope["url_route"]["kwargs"]["battle_id"]
        self.bucket = TokenBucket(capacity=FRAMES_AT_ONCE, rate=FRAMES_A_SECOND)
        self.outbox: asyncio.Queue[events.ServerFrame] = asyncio.Queue()
        self.sender: asyncio.Task[None] | None = None
        self.feed = BattleFeed(battle_id=self.battle_id, viewer=cast(User, self.scope["user"]), send=self.put)
        if not await self.enter():
            return
        await self.channel_layer.group_add(group_of(self.battle_id), self.channel_name)
        try:
            await self.feed.open()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)
            return
        self.sender = asyncio.create_task(self._send_all())

    async def disconnect(self, code: int) -> None:
        if self.sender:
            self.sender.cancel()
        await self.feed.close()
        await self.channel_layer.group_discard(group_of(self.battle_id), self.channel_name)
        await self.leave()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.sender is None:  # being closed: this battle is not this person's
            return
        try:
            if not self.bucket.take():
                raise TooMany
            await self._handle(events.parse(text_data or ""))
        except TourneyError as error:
            self.put(events.Refused(error.code, str(error)))
        except Exception as error:  # a defect or a lost database must not cost the reader the stream of answers
            logger.exception("A frame on battle %s failed", self.battle_id)
            if outage := outage_of(error):
                self.put(events.Refused(outage.code, str(outage)))
            else:
                self.put(events.Refused("defect", _("Something broke on our side. Nothing was lost; try again.")))

    async def battle_changed(self, message: dict[str, Any]) -> None:
        """Another window, or a program, changed this battle."""
        if message["origin"] == self.channel_name:
            return
        try:
            await self.feed.open()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)

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
                if proofs.is_asked(proofs.VOTE):
                    check = in_database_thread(proofs.proof_check)  # the cache may be over the network
                    await check(purpose=proofs.VOTE, who=str(user.pk), proof=frame.proof)
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
