"""What the player of an experiment reads and writes. It holds the conversations that it has claimed in memory, so a
turn takes a share of one transaction, and what people did meanwhile is read in the same one."""

from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch
from django.utils import timezone

from common.refusals import is_refusal
from conversations.course import Course, NextTurn, Stand
from conversations.models import Agent, Conversation, Experiment, Turn
from conversations.turns import earlier_attempt_stands
from providers.live import GenerationRecord
from providers.services import generations_note

State, Reason = Conversation.State, Conversation.Reason
# A window looks again more often than that.
WATCHED_FOR = timedelta(seconds=15)
RECORDED = tuple(field.name for field in fields(GenerationRecord))
# What people may change while it is played.
CHANGEABLE = (
    "state", "reason", "note", "is_pause_asked", "max_turns", "stop_phrase", "stops_on_goodbye",
    "stops_on_repetition", "token_budget", "cost_budget", "moved_at", "deleted_at",
)  # fmt: skip


@dataclass(slots=True)
class Flight:
    """A turn that is being written. `stand` is how the conversation stands still behind it, once that is known."""

    course: Course
    following: NextTurn
    record: GenerationRecord | None = None
    stand: Stand | None = None
    is_shown: bool = False
    """Its row is there already, for those who look on."""
    is_stored: bool = False
    is_dropped: bool = False
    """Not wanted any more: what comes of it is not stored."""

    @property
    def turn(self) -> Turn:
        return self.following.turn

    @property
    def conversation(self) -> Conversation:
        return self.course.conversation


@transaction.atomic
def courses_claim(*, ids: Collection[UUID]) -> list[Course]:
    """Set these conversations going, and load them; those that have ended or were deleted are left out. A turn that a
    dead worker was at is marked as interrupted, and will be had again."""
    agents = Prefetch("agents", Agent.objects.select_related("model__endpoint"))
    rows = Conversation.objects.select_for_update(of=("self",)).kept().exclude(state=State.ENDED).filter(pk__in=ids)
    claimed = list(rows.select_related("scenario").prefetch_related(agents).order_by("pk"))
    mine, now = [one.pk for one in claimed], timezone.now()
    turns = Turn.objects.filter(conversation__in=mine)
    turns.filter(is_current=True, status__in=Turn.LIVE).update(status=Turn.Status.INTERRUPTED, finished_at=now)
    news = {"state": State.RUNNING, "reason": "", "note": "", "is_pause_asked": False, "moved_at": now}
    Conversation.objects.filter(pk__in=mine).update(**news)
    attempts: dict[UUID, list[Turn]] = {}
    for turn in turns.defer("reasoning", "error_message").order_by("position", "attempt"):
        attempts.setdefault(turn.conversation_id, []).append(turn)
    for one in claimed:
        for name, value in news.items():
            setattr(one, name, value)
    courses = {one.pk: Course(one, attempts.get(one.pk, [])) for one in claimed}
    return [courses[id_] for id_ in ids if id_ in courses]


def flights_store(*, owner_id: int, ended: Sequence[Flight]) -> None:
    """Store turns that have ended, all of one person, in one transaction, and how each conversation stands then."""
    before = [(flight.course, list(flight.course.attempts)) for flight in ended]
    try:
        with transaction.atomic():
            _store(owner_id, ended)
    except BaseException:
        for course, attempts in before:
            course.attempts = attempts
        raise
    for flight in ended:
        flight.is_stored = True


def _store(owner_id: int, ended: Sequence[Flight]) -> None:
    ids = [flight.conversation.pk for flight in ended]
    now_there = {row.pk: row for row in Conversation.objects.select_for_update().filter(pk__in=ids).order_by("pk")}
    kept = [flight for flight in ended if _caught_up(flight, now_there.get(flight.conversation.pk))]
    for flight in kept:
        assert flight.record is not None, "only turns that have ended are stored"
        for name in RECORDED:
            setattr(flight.turn, name, getattr(flight.record, name))
        flight.turn.is_refusal = is_refusal(flight.record.text, flight.record.finish_reason)
        insort(flight.course.attempts, flight.turn, key=lambda turn: (turn.position, turn.attempt))
    _failed_give_way([flight for flight in kept if not flight.is_shown])
    Turn.objects.bulk_create([flight.turn for flight in kept if not flight.is_shown])
    for flight in kept:
        if flight.is_shown:
            flight.turn.save(force_update=True)
        if not flight.turn.is_answer and flight.turn.attempt > 1:
            earlier_attempt_stands(flight.turn)
    notes = [(flight.turn.model_id, flight.record) for flight in kept if flight.turn.model_id and flight.record]
    generations_note(user_id=owner_id, ended=notes)
    for flight in kept:
        flight.stand = _stand_of(flight.course)
    _stand_still([flight for flight in kept if flight.stand and flight.conversation.is_running])


def _caught_up(flight: Flight, row: Conversation | None) -> bool:
    """Take over what people did meanwhile; False where the conversation is gone with its experiment."""
    if row is None:
        flight.stand = Stand(State.ENDED, Reason.STOPPED)
        return False
    course = flight.course
    if row.moved_at != course.conversation.moved_at:
        if not flight.is_shown:
            _place_kept(flight.turn)
        turns = row.turns.exclude(pk=flight.turn.pk).defer("reasoning", "error_message")
        course.attempts = list(turns.order_by("position", "attempt"))
    for name in CHANGEABLE:
        setattr(course.conversation, name, getattr(row, name))
    return True


def _place_kept(turn: Turn) -> None:
    """What the moderator said while a turn was being written stands behind it: it was not heard before."""
    lines = Turn.objects.filter(
        conversation=turn.conversation_id, speaker=Turn.Speaker.MODERATOR, position__gte=turn.position
    ).order_by("-position")
    found = list(lines.values_list("pk", "position"))
    if found and found[-1][1] == turn.position:
        for pk, position in found:
            Turn.objects.filter(pk=pk).update(position=position + 1)


def _stand_of(course: Course) -> Stand | None:
    conversation = course.conversation
    if conversation.deleted_at is not None or not conversation.is_running:
        return Stand(conversation.state, conversation.reason)
    return course.stand_after_last()


def _failed_give_way(flights: Sequence[Flight]) -> None:
    failed = [turn for flight in flights for turn in flight.following.failed]
    if failed:
        Turn.objects.filter(pk__in=[turn.pk for turn in failed]).update(is_current=False)
    for turn in failed:
        turn.is_current = False


def _stand_still(flights: Sequence[Flight]) -> None:
    groups: dict[Stand, list[UUID]] = {}
    for flight in flights:
        assert flight.stand is not None
        groups.setdefault(flight.stand, []).append(flight.conversation.pk)
    for stand, ids in groups.items():
        conversations_stand_still(ids=ids, stand=stand)


def conversations_stand_still(*, ids: Collection[UUID], stand: Stand) -> None:
    """Those of them that are under way come to stand still."""
    Conversation.objects.filter(pk__in=ids, state=State.RUNNING).update(
        state=stand.state, reason=stand.reason, note=stand.note, is_pause_asked=False, moved_at=timezone.now()
    )


@transaction.atomic
def flight_show(*, flight: Flight, text: str = "", reasoning: str = "") -> None:
    """Let those who look on see a turn that is being written, as far as it is. Nothing once it has been stored."""
    if flight.is_stored or flight.is_dropped or flight.record is not None:
        return
    status = Turn.Status.STREAMING if text or reasoning else Turn.Status.WAITING
    if flight.is_shown:
        row = Turn.objects.filter(pk=flight.turn.pk, status__in=Turn.LIVE)
        row.update(text=text, reasoning=reasoning, status=status)
        return
    if not Conversation.objects.select_for_update().filter(pk=flight.conversation.pk).first():
        return  # gone with its experiment
    _place_kept(flight.turn)
    _failed_give_way([flight])
    flight.turn.text, flight.turn.reasoning, flight.turn.status = text, reasoning, status
    flight.turn.save(force_insert=True)
    flight.is_shown = True


def flights_drop(*, flights: Sequence[Flight]) -> None:
    """Turns that were never asked for leave no row."""
    Turn.objects.filter(
        pk__in=[flight.turn.pk for flight in flights if flight.is_shown and not flight.is_stored]
    ).delete()


def watched_now(experiment: Experiment) -> set[UUID]:
    """The conversations that somebody looks at while they are played."""
    rows = experiment.conversations.filter(state=State.RUNNING, watched_at__gt=timezone.now() - WATCHED_FOR)
    return set(rows.values_list("pk", flat=True))
