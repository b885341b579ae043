"""One viewer's view of one battle as it happens: first the whole state, then every change, as frames.

The WebSocket consumer and the API's event stream both read from it. It holds the viewer's attachments to the live
generations, and touches the database only when something begins or ends, never for a token.
"""

import asyncio
from collections.abc import Callable
from dataclasses import fields
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from battles import blinding, events, selectors, services, state
from battles.models import Battle, Response
from common.aio import spawn
from common.database import in_database_thread
from common.errors import NotFound
from common.frames import Refused
from providers import live
from providers.live import Block, Delta, Ended, LiveView, Reasoning, Update, Waiting

# Together longer than answering.ORPHAN_AFTER, so that a response without a writer is always settled.
RECHECKS = 10
RECHECK_SECONDS = 0.4


async def battle_now(*, battle_id: UUID, viewer: User) -> tuple[Battle, dict[UUID, LiveView]]:
    """The battle as stored, and what is being written of it in this moment. Raises NotFound."""
    feed = BattleFeed(battle_id=battle_id, viewer=viewer, send=lambda frame: None)
    try:
        return await feed.load()
    finally:
        await feed.close()


class BattleFeed:
    """Sends frames through `send`, which must not block, in the order in which a viewer needs them."""

    def __init__(self, *, battle_id: UUID, viewer: User, send: Callable[[events.ServerFrame], None]) -> None:
        self.battle_id = battle_id
        self.viewer = viewer
        self._send = send
        self._battle: Battle | None = None
        self._responses: dict[UUID, Response] = {}  # the standing ones of the last turn
        self._answered: set[int] = set()  # ids of the sides that have an answer in some turn
        self._attached: set[UUID] = set()
        self._waiting: dict[UUID, tuple[int | None, str]] = {}  # what was said of places in line
        self._held: list[Update] | None = None
        self._looking: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Send the snapshot and follow what is being written. Raises NotFound. Called again, it starts anew."""
        battle, views = await self._followed()
        self._send(events.Snapshot(await _state(battle, views)))
        self._release()

    async def reveal(self) -> None:
        """Send the battle with its models; a vote was taken."""
        battle, views = await self._followed()
        self._send(events.Revealed(await _state(battle, views)))
        self._release()

    async def follow_turn(self, begun: services.BegunTurn) -> None:
        """A turn has begun by this viewer's own hand; no need to read it from the database."""
        responses = [request.response for request in begun.requests]
        views = await self._follow(begun.battle, responses)
        preference = next(iter(begun.battle.preferences.all()), None)
        self._send(events.Turn(state.turn_state(begun.battle, begun.turn, responses, preference, views)))
        self._release()

    async def follow_attempt(self, battle: Battle, response: Response) -> None:
        """A fresh attempt has begun on one side of the last turn."""
        self._held = []
        others = {id: other for id, other in self._responses.items() if other.side_id != response.side_id}
        self._battle, self._responses = battle, others | {response.id: response}
        view = (await self._attach(battle, [response])).get(response.id)
        self._send(events.Waiting(response.side.label, state.response_state(battle, response, view)))
        self._release()

    @property
    def is_busy(self) -> bool:
        """Whether a side of the last turn is being written."""
        return any(response.is_live for response in self._responses.values())

    async def close(self) -> None:
        await live_detach(self._attached, self._on_update)

    async def load(self) -> tuple[Battle, dict[UUID, LiveView]]:
        """Read the battle and attach to what is live. What is stored as live but nobody writes is read once more,
        since it may have ended in between, and then marked as interrupted."""
        await self.close()
        for look in range(RECHECKS + 1):
            battle = await in_database_thread(selectors.battle_whole)(battle_id=self.battle_id, viewer=self.viewer)
            last = list(battle.turns.all())[-1:]
            responses = [response for turn in last for response in turn.responses.all()]
            views = await self._attach(battle, responses)
            lost = [response for response in responses if response.is_live and response.id not in views]
            if not lost or look == RECHECKS:
                break
            await self.close()
            if not await in_database_thread(services.responses_sweep)(responses=lost):
                await asyncio.sleep(RECHECK_SECONDS)
        self._battle, self._responses = battle, {response.id: response for response in responses}
        self._answered = selectors.sides_answered(battle)
        return battle, views

    # --- inside ---

    async def _followed(self) -> tuple[Battle, dict[UUID, LiveView]]:
        self._held = []
        return await self.load()

    async def _follow(self, battle: Battle, responses: list[Response]) -> dict[UUID, LiveView]:
        self._held = []
        self._battle, self._responses = battle, {response.id: response for response in responses}
        return await self._attach(battle, responses)

    async def _attach(self, battle: Battle, responses: list[Response]) -> dict[UUID, LiveView]:
        views: dict[UUID, LiveView] = {}
        for response in responses:
            if response.is_live and (view := await live.attach(response.id, self._on_update)):
                views[response.id] = view
                self._attached.add(response.id)
                self._waiting[response.id] = blinding.place_shown(battle, view.place)
        return views

    def _release(self) -> None:
        """What came in while the state was gathered follows behind it."""
        held, self._held = self._held or [], None
        for update in held:
            self._on_update(update)

    def _on_update(self, update: Update) -> None:
        if self._held is not None:
            self._held.append(update)
            return
        response = self._responses.get(update.id)
        if response is None:
            return
        side = response.side.label
        match update:
            case Waiting():
                self._waits(response, update.place)
            case Delta():
                self._send(events.Delta(side, update.text))
            case Reasoning():
                self._send(events.Reasoning(side, update.text))
            case Block():
                self._send(events.Block(side, update.html, update.tail))
            case Ended():
                self._attached.discard(update.id)
                self._ended(response, update)

    def _waits(self, response: Response, place: int | None) -> None:
        """Said where it changes what the viewer knows: in a blind battle how often the line moves is hidden, too, and
        whether somebody else is asked after the first wait."""
        assert self._battle is not None
        shown = blinding.place_shown(self._battle, place)
        is_news = shown != self._waiting.get(response.id, (None, "")) and (place or blinding.is_revealed(self._battle))
        if is_news:
            self._waiting[response.id] = shown
            self._send(events.Queued(response.side.label, *shown))

    def _ended(self, response: Response, update: Ended) -> None:
        assert self._battle is not None
        for field in fields(update.record):
            setattr(response, field.name, getattr(update.record, field.name))
        if response.is_answer:
            self._answered.add(response.side_id)
        can_vote = self._can_vote()
        side = response.side.label
        if response.status in (Response.Status.FAILED, Response.Status.INTERRUPTED):
            kind, message = blinding.failure_shown(self._battle, response)
            self._send(events.Failed(side, kind, message, can_vote))
            if response.attempt > 1:
                self._looking = spawn(self._look_again(response))
        else:
            metrics = blinding.metrics_shown(self._battle, response)
            self._send(events.Finished(side, response.status, update.html, response.text, metrics, can_vote))

    async def _look_again(self, failed: Response) -> None:
        """A further attempt has failed: the earlier one stands again, if it was an answer."""
        try:
            await self.open()
        except NotFound:
            return
        if failed.id not in self._responses:
            self._send(Refused("attempt_failed", _("The new attempt failed, so the earlier answer stands.")))

    def _can_vote(self) -> bool:
        """From what was seen here, without the database."""
        assert self._battle is not None
        return selectors.may_be_judged(
            is_judged=bool(self._battle.preferences.all()), is_busy=self.is_busy, answered=len(self._answered)
        )


async def _state(battle: Battle, views: dict[UUID, LiveView]) -> dict[str, Any]:
    """After the reveal the state reads the ratings, so it is gathered in a thread."""
    whole: dict[str, Any] = await in_database_thread(state.battle_state)(battle, views)
    return whole


async def live_detach(attached: set[UUID], viewer: Callable[[Update], None]) -> None:
    while attached:
        await live.detach(attached.pop(), viewer)
