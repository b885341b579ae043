"""One viewer's view of one conversation as it happens: first the whole state, then every change, as frames.

The WebSocket consumer and the API's event stream both read from it. It holds the viewer's attachments to the live
generations, and touches the database only when something begins or ends, never for a token.
"""

import asyncio
from collections.abc import Callable
from dataclasses import fields
from uuid import UUID

from accounts.models import User
from common.database import in_database_thread
from common.refusals import is_refusal
from conversations import events, selectors, services, state
from conversations.models import Analysis, Conversation, Turn
from providers import live
from providers.live import Block, Delta, Ended, LiveView, Reasoning, Update, Waiting

# Together longer than turns.ORPHAN_AFTER, so that a turn without a writer is always settled.
RECHECKS = 10
RECHECK_SECONDS = 0.4
Row = Turn | Analysis
Told = tuple[int, str, int, int]  # the place, the status, and how much of the text and the reasoning


async def conversation_now(*, conversation_id: UUID, viewer: User) -> tuple[Conversation, dict[UUID, LiveView]]:
    """The conversation as stored, and what is being written of it in this moment. Raises NotFound."""
    feed = ConversationFeed(conversation_id=conversation_id, viewer=viewer, send=lambda frame: None)
    try:
        return await feed.load()
    finally:
        await feed.close()


class ConversationFeed:
    """Sends frames through `send`, which must not block, in the order in which a viewer needs them."""

    def __init__(self, *, conversation_id: UUID, viewer: User, send: Callable[[events.ServerFrame], None]) -> None:
        self.conversation_id = conversation_id
        self.viewer = viewer
        self.is_busy = False
        self.is_elsewhere = False  # a worker plays it or may begin to, and its steps may not be heard here
        self._send = send
        self._followed: dict[UUID, Row] = {}
        self._views: dict[UUID, LiveView] = {}  # as they were when following began
        self._told: dict[UUID, Told] = {}  # what the viewer knows of each turn and analysis
        self._held: list[Update] | None = None
        self._reading = asyncio.Lock()

    async def open(self) -> None:
        """Send the snapshot and follow what is being written. Raises NotFound."""
        async with self._reading:
            await self.close()
            self._held = []
            conversation, views = await self.load()
            self._send(events.Snapshot(await in_database_thread(state.conversation_state)(conversation, views)))
            self._told = {row.id: _told(row, row.id in views) for row in _rows(conversation)}
            self._release()

    async def refresh(self) -> None:
        """Something began or ended: send what the viewer does not know yet. Raises NotFound."""
        async with self._reading:
            self._held = self._held or []
            conversation, views = await self.load()
            for row in _rows(conversation):
                told = _told(row, row.id in views)
                if self._told.get(row.id) == told:
                    continue
                self._told[row.id] = told
                if isinstance(row, Turn):
                    self._send(events.Turn(state.turn_state(row, views.get(row.id))))
                else:
                    self._send(events.Analysis(state.analysis_state(row, views.get(row.id))))
            self._send(events.Progress(state.progress_state(conversation)))
            self._release()

    async def load(self) -> tuple[Conversation, dict[UUID, LiveView]]:
        """Read it and attach to what is live. What is stored as live but nobody writes is read once more, since it may
        have ended in between, and then swept."""
        for look in range(RECHECKS + 1):
            conversation = await in_database_thread(selectors.conversation_whole)(
                conversation_id=self.conversation_id, viewer=self.viewer
            )
            written = [row for row in _rows(conversation) if row.is_live]
            views = {row.id: view for row in written if (view := await self._attach(row))}
            lost = [row for row in written if row.id not in views]
            is_stuck = conversation.is_running and not any(isinstance(row, Turn) for row in written)
            if conversation.experiment_id or not (lost or is_stuck) or look == RECHECKS:
                break
            if not await in_database_thread(self._sweep)(conversation, lost):
                if not lost:
                    break  # between two turns
                await asyncio.sleep(RECHECK_SECONDS)
        if conversation.named_at is None and conversation.turns.all():
            await in_database_thread(services.conversation_named)(conversation_id=conversation.pk)
        self.is_busy = conversation.is_running or bool(views)
        has_ended = conversation.state == Conversation.State.ENDED
        self.is_elsewhere = conversation.experiment_id is not None and not has_ended
        if self.is_elsewhere:
            await in_database_thread(services.conversation_watch)(conversation=conversation)
        return conversation, views

    @property
    def is_following(self) -> bool:
        """Whether it hears of what is being written while it is written."""
        return bool(self._followed)

    def _sweep(self, conversation: Conversation, lost: list[Row]) -> int:
        swept = services.analyses_sweep(analyses=[row for row in lost if isinstance(row, Analysis)])
        return swept + services.conversations_sweep(conversations=[conversation])

    async def close(self) -> None:
        for id_ in list(self._followed):
            await live.detach(id_, self._on_update)
        self._followed.clear()
        self._views.clear()

    # --- inside ---

    async def _attach(self, row: Row) -> LiveView | None:
        if row.id in self._followed:
            return self._views[row.id]
        self._followed[row.id] = row
        view = await live.attach(row.id, self._on_update)
        if view is None:
            del self._followed[row.id]
        else:
            self._views[row.id] = view
        return view

    def _release(self) -> None:
        """What came in while the state was gathered follows behind it."""
        held, self._held = self._held or [], None
        for update in held:
            self._on_update(update)

    def _on_update(self, update: Update) -> None:
        if self._held is not None:
            self._held.append(update)
            return
        row = self._followed.get(update.id)
        if row is None:
            return
        id_, side = str(row.id), row.speaker if isinstance(row, Turn) else ""
        match update:
            case Waiting():
                self._send(events.Queued(id_, side, update.place))
            case Delta():
                self._send(events.Delta(id_, side, update.text))
            case Reasoning():
                self._send(events.Reasoning(id_, side, update.text))
            case Block():
                self._send(events.Block(id_, side, update.html, update.tail))
            case Ended():
                self._ended(row, update)

    def _ended(self, row: Row, update: Ended) -> None:
        self._followed.pop(row.id, None)
        for field in fields(update.record):
            setattr(row, field.name, getattr(update.record, field.name))
        id_, side = str(row.id), row.speaker if isinstance(row, Turn) else ""
        kind, message = state.failure_of(row)
        if isinstance(row, Analysis):
            return  # told as a whole by the next refresh, with what was understood
        self._told[row.id] = _told(row, False)
        if kind:
            self._send(events.Failed(id_, side, kind, message))
            return
        refused = is_refusal(row.text, row.finish_reason)
        self._send(events.Finished(id_, side, row.status, update.html, row.text, state.metrics_of(row), refused))


def _rows(conversation: Conversation) -> list[Row]:
    return [*conversation.turns.all(), *conversation.analyses.all()]


def _told(row: Row, is_followed: bool) -> Told:
    """Of one that is followed every further piece is told, so its length does not matter."""
    place = row.position if isinstance(row, Turn) else 0
    return (place, "followed", 0, 0) if is_followed else (place, row.status, len(row.text), len(row.reasoning))
