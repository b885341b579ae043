"""Plays the conversations of an experiment, many at once, in one event loop of a worker.

Every step is stored before the next: whoever starts this again does only what is missing.
"""

import asyncio
import logging
from collections.abc import Callable
from uuid import UUID

from django.db import connections

from accounts.jobs import JobCancelled
from common.database import in_database_thread
from conversations import services
from conversations.experiments.services import AT_ONCE, conversation_claim, conversations_pause
from conversations.models import Conversation, Experiment, Turn
from conversations.notices import viewers_tell
from providers.adapters.http import close_clients
from providers.whole_answers import answer_recorded

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
OnTurn = Callable[[int, int], None]  # turns done, turns of the plan; raises JobCancelled to end it


def experiment_play(*, experiment: Experiment, on_progress: OnTurn, at_once: int = AT_ONCE) -> None:
    """Play all that has not ended, and return when nothing more can be done. Raises JobCancelled once `on_progress`
    has, after the turns that were being written."""
    asyncio.run(_Run(experiment, on_progress, at_once).play())


class _Run:
    def __init__(self, experiment: Experiment, on_progress: OnTurn, at_once: int) -> None:
        self._experiment = experiment
        self._on_progress = on_progress
        self._places = asyncio.Semaphore(at_once)
        self._is_cancelled = False

    async def play(self) -> None:
        try:
            ids = await in_database_thread(self._missing)()
            looking = asyncio.create_task(self._look())
            await asyncio.gather(*(self._conversation(id_) for id_ in ids))
            looking.cancel()
            await in_database_thread(self._tell)()
            if self._is_cancelled:
                raise JobCancelled
        finally:
            await close_clients()
            await in_database_thread(connections.close_all)()

    def _missing(self) -> list[UUID]:
        rows = self._experiment.conversations.kept().exclude(state=Conversation.State.ENDED)
        return list(rows.order_by("cell").values_list("pk", flat=True))

    async def _conversation(self, id_: UUID) -> None:
        """One conversation to its end, or to where it cannot go on. What breaks in it costs no other."""
        async with self._places:
            try:
                if self._is_cancelled or not await in_database_thread(conversation_claim)(conversation_id=id_):
                    return
                request = await in_database_thread(services.turn_begin)(conversation_id=id_)
                while request:
                    record = await answer_recorded(request.target, request.messages)
                    await in_database_thread(services.turn_save)(turn_id=request.turn.id, record=record)
                    request = await in_database_thread(services.turn_next)(conversation_id=id_)
                    await viewers_tell(id_)
            except Exception:
                logger.exception("Conversation %s of experiment %s could not go on", id_, self._experiment.pk)

    async def _look(self) -> None:
        """Say how far it is, and hear whether it is to end."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await in_database_thread(self._tell)()
            except JobCancelled:
                self._is_cancelled = True
                await in_database_thread(conversations_pause)(experiment=self._experiment)
                return

    def _tell(self) -> None:
        said = Turn.objects.filter(
            conversation__experiment=self._experiment, is_current=True, status=Turn.Status.FINISHED
        )
        self._on_progress(said.count(), self._experiment.turns_planned)
