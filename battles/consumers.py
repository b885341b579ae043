"""The WebSocket of a battle. It never streams inside `receive`: it follows live generations and passes frames on."""

from typing import Any, cast
from uuid import UUID

from accounts import proofs
from accounts.models import User
from accounts.sockets import CLOSE_NOT_YOURS, FeedConsumer
from battles import events, generation, services
from battles.feed import BattleFeed
from battles.notices import group_of, viewers_tell
from battles.selectors import battle_whole
from common.database import in_database_thread
from common.errors import NotFound
from common.frames import Ping, Pong


class BattleConsumer(FeedConsumer):
    """One window on one battle."""

    feed: BattleFeed

    async def connect(self) -> None:
        self.battle_id: UUID = self.scope["url_route"]["kwargs"]["battle_id"]
        self.feed = BattleFeed(battle_id=self.battle_id, viewer=cast(User, self.scope["user"]), send=self.put)
        self.group = group_of(self.battle_id)
        await super().connect()

    async def battle_changed(self, message: dict[str, Any]) -> None:
        """Another window, or a program, changed this battle."""
        if message["origin"] == self.channel_name:
            return
        try:
            await self.feed.open()
        except NotFound:
            await self.close(code=CLOSE_NOT_YOURS)

    async def hear(self, text: str) -> None:
        frame = events.parse(text)
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
            case Ping():
                self.put(Pong())

    async def _changed(self) -> None:
        await viewers_tell(self.battle_id, origin=self.channel_name)
