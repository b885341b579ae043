"""Plays the conversations of an experiment, many at once, in one event loop of a worker.

The worker holds the experiment: what it has claimed it keeps in memory, and stores every turn that ends before it asks
for the next one. Whoever starts this again after it was killed does only what is missing.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connections

from accounts.jobs import JobCancelled
from common.database import in_database_thread
from common.errors import TourneyError
from common.stopping import GivesWay
from conversations.course import Course, Stand
from conversations.errors import StillSpeaking
from conversations.experiments import holding, playing
from conversations.experiments.journal import Journal, folder_of
from conversations.experiments.permissions import Permissions
from conversations.experiments.playing import Flight
from conversations.experiments.selectors import experiment_turns, rows_ended
from conversations.experiments.services import conversations_pause
from conversations.experiments.storing import Storing
from conversations.files.log import log_row
from conversations.models import Conversation, Experiment, Side
from conversations.notices import viewers_tell
from conversations.requests import history, target_of_agent
from providers import live
from providers.adapters.base import Priority, Target
from providers.adapters.http import close_clients
from providers.live import GenerationRecord

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
# Conversations that are under way at once, those that wait for a place at their endpoint included: as many as keep
# every place busy while others are being stored.
AT_ONCE = 256
CLAIMED_AT_ONCE = 50
ASKED, INTERRUPTED = (
    Stand(Conversation.State.PAUSED, reason) for reason in (Conversation.Reason.ASKED, Conversation.Reason.INTERRUPTED)
)
OnTurn = Callable[[int, int], None]  # turns done, turns of the plan; raises JobCancelled or GivesWay to end it


def experiment_play(
    *, experiment: Experiment, on_progress: OnTurn, at_once: int = AT_ONCE, folder: Path | None = None
) -> None:
    """Play all that has not ended, and return when nothing more can be done; each turn is logged in `folder`, too.

    Raises StillSpeaking where another process plays it, OSError where the log cannot be written, and what `on_progress`
    has raised: JobCancelled after the turns that were being written, GivesWay at once, without them.
    """
    name = holding.experiment_hold(experiment=experiment)
    try:
        with Journal(folder or folder_of(experiment.pk)) as journal:
            journal.append(rows_ended(experiment, journal.known()))
            asyncio.run(_Run(experiment, name, journal, on_progress, at_once).play())
    finally:
        holding.experiment_let_go(experiment=experiment, name=name)


class _Run:
    def __init__(self, experiment: Experiment, name: str, journal: Journal, on_turn: OnTurn, at_once: int) -> None:
        self._experiment = experiment
        self._name = name
        self._journal: Journal | None = journal
        self._on_progress = on_turn
        self._at_once = at_once
        self._permissions = Permissions(experiment.owner_id)
        self._storing = Storing(in_database_thread(self._store))
        self._missing: deque[UUID] = deque()
        self._claimed: deque[Course] = deque()
        self._claiming = asyncio.Lock()
        self._flights: dict[UUID, Flight] = {}
        self._left: set[UUID] = set()  # claimed conversations that this process has not seen come to stand still
        self._watched: set[UUID] = set()
        self._done = 0
        self._ending = asyncio.Event()  # nothing more is begun
        self._is_cancelled = False  # its owner wants that
        self._is_lost = False  # another process has taken over

    async def play(self) -> None:
        looking = None
        try:
            await in_database_thread(self._begin)()
            looking = asyncio.create_task(self._look())
            await asyncio.gather(*(self._player() for _ in range(min(self._at_once, len(self._missing)))))
            if self._is_lost:
                raise StillSpeaking(holding.HELD)
            await in_database_thread(self._on_progress)(self._done, self._experiment.turns_planned)
            if self._is_cancelled:
                raise JobCancelled
        finally:
            if looking:
                looking.cancel()
            await in_database_thread(self._end)()
            await close_clients()
            await in_database_thread(connections.close_all)()

    def _begin(self) -> None:
        rows = self._experiment.conversations.kept().exclude(state=Conversation.State.ENDED)
        self._missing.extend(rows.order_by("cell").values_list("pk", flat=True))
        self._done = experiment_turns(self._experiment).count()

    def _end(self) -> None:
        if not self._is_lost:
            playing.conversations_stand_still(ids=self._left, stand=ASKED if self._is_cancelled else INTERRUPTED)

    # --- the conversations ---

    async def _player(self) -> None:
        """One after the other. What breaks in one costs no other."""
        while course := await self._next():
            try:
                await self._conversation(course)
            except Exception:  # it stands still with what is stored, and the next start goes on from there
                id_ = course.conversation.pk
                logger.exception("Conversation %s of experiment %s could not go on", id_, self._experiment.pk)

    async def _next(self) -> Course | None:
        async with self._claiming:
            while self._missing and not self._claimed and not self._ending.is_set():
                ids = [self._missing.popleft() for _ in range(min(CLAIMED_AT_ONCE, len(self._missing)))]
                self._claimed.extend(await in_database_thread(playing.courses_claim)(ids=ids))
                self._left.update(course.conversation.pk for course in self._claimed)
            return self._claimed.popleft() if self._claimed and not self._ending.is_set() else None

    async def _conversation(self, course: Course) -> None:
        """To its end, or to where it cannot go on."""
        stand = course.stand_before_next()
        while stand is None and not self._ending.is_set():
            flight = Flight(course, course.next_turn())
            try:
                target = await self._permissions.target(flight.following.agent.model_id)
            except TourneyError as error:
                stand = Stand(Conversation.State.PAUSED, Conversation.Reason.REFUSED, str(error))
                break
            if self._ending.is_set():
                break
            await self._fly(flight, target)
            if flight.is_dropped:
                return
            if flight.stand:  # stored with the turn
                self._left.discard(course.conversation.pk)
                return
        if stand:
            await in_database_thread(playing.conversations_stand_still)(ids=[course.conversation.pk], stand=stand)
            self._left.discard(course.conversation.pk)

    async def _fly(self, flight: Flight, target: Target) -> None:
        """Have one turn written and stored."""
        turn, conversation = flight.turn, flight.conversation
        target = target_of_agent(flight.following.agent, target, seed=conversation.seed)
        messages = history(conversation, Side(turn.speaker), flight.course.turns)
        self._flights[turn.pk] = flight
        try:
            live.start(turn.pk, target, messages, self._save, priority=Priority.BATCH, is_announced=False)
            if conversation.pk in self._watched:
                await self._show(flight)
            await live.wait(turn.pk)
        except BaseException:  # the process is being ended
            flight.is_dropped = True
            await live.stop(turn.pk)
            raise
        finally:
            del self._flights[turn.pk]
        if not (flight.is_stored or flight.is_dropped):
            raise RuntimeError(f"turn {turn.pk} could not be stored")
        self._done += turn.is_answer and flight.is_stored
        if conversation.pk in self._watched:
            await viewers_tell(conversation.pk)

    async def _save(self, turn_id: UUID, record: GenerationRecord) -> None:
        flight = self._flights.get(turn_id)
        if flight is None or flight.is_dropped or record.finished_at is None:
            return
        flight.record = record
        await self._storing.put(flight)

    def _store(self, flights: Sequence[Flight]) -> None:
        playing.flights_store(owner_id=self._experiment.owner_id, ended=flights)
        try:
            if self._journal:
                self._journal.append(_row(flight) for flight in flights if flight.conversation.pk)
        except OSError:  # the database has it, and the next start adds it to the file
            logger.exception("The log of experiment %s on disk cannot be written", self._experiment.pk)
            self._journal = None
        for flight in flights:
            flight.turn.reasoning = ""  # may be long, and is not needed any more

    # --- those who look on, and the owner ---

    async def _look(self) -> None:
        """Say how far it is, hear whether it is to end, and see who looks on."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                self._watched = await in_database_thread(self._beat)()
                for flight in list(self._flights.values()):
                    if flight.conversation.pk in self._watched:
                        await self._show(flight)
            except JobCancelled:
                await self._cancel()
            except GivesWay:
                await self._drop(list(self._flights.values()))
            except Exception:  # the database may be away for a while; this must go on
                logger.exception("Experiment %s could not say how far it is", self._experiment.pk)

    def _beat(self) -> set[UUID]:
        if not holding.experiment_hold_on(experiment=self._experiment, name=self._name):
            self._is_lost = True
            raise JobCancelled
        if not self._ending.is_set():
            self._on_progress(self._done, self._experiment.turns_planned)
        return playing.watched_now(self._experiment)

    async def _cancel(self) -> None:
        """What is being written is written to its end; what waits in line is not asked for."""
        self._ending.set()
        flights = list(self._flights.values())
        if not self._is_lost:
            self._is_cancelled = True
            await in_database_thread(conversations_pause)(experiment=self._experiment)
            flights = [flight for flight in flights if live.is_in_line(flight.turn.pk)]
        await self._drop(flights)

    async def _drop(self, flights: Sequence[Flight]) -> None:
        """Begin nothing more, and leave these turns without a row."""
        self._ending.set()
        for flight in flights:
            flight.is_dropped = True
            await live.stop(flight.turn.pk)
        await in_database_thread(playing.flights_drop)(flights=flights)

    async def _show(self, flight: Flight) -> None:
        """Let those who look on see a turn that is being written, in this moment and from now on."""
        text, reasoning = live.written(flight.turn.pk)
        was_shown = flight.is_shown
        await in_database_thread(playing.flight_show)(flight=flight, text=text, reasoning=reasoning)
        if flight.is_shown and not was_shown:
            live.announce(flight.turn.pk)
            await viewers_tell(flight.conversation.pk)


def _row(flight: Flight) -> dict[str, Any]:
    models = {agent.side: agent.model_slug for agent in flight.conversation.agents.all()}
    return log_row(flight.conversation, models, flight.turn)
