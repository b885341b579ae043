"""How a conversation goes on, turn by turn. Each step is a transaction, so that a process that dies leaves a state
from which another goes on. Called through the services."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch
from django.utils import timezone

from accounts.models import User
from common.errors import NotFound, TourneyError
from common.refusals import is_refusal
from conversations.errors import AgentGone, IsOver, NothingToRetry, StillSpeaking
from conversations.models import Agent, Conversation, Side, Turn
from conversations.requests import Request, request_for
from conversations.stopping import budget_spent, rules_of, stop_reason
from providers import live
from providers.live import GenerationRecord
from providers.services import budget_check, generation_note, models_try

State, Reason = Conversation.State, Conversation.Reason
# A conversation that took a step a moment ago may be between two turns.
ORPHAN_AFTER = timedelta(seconds=3)


@dataclass(slots=True)
class _Held:
    """A conversation with its parts, held until the transaction ends."""

    conversation: Conversation
    attempts: list[Turn]

    @property
    def turns(self) -> list[Turn]:
        """The standing ones, the moderator's lines included."""
        return [turn for turn in self.attempts if turn.is_current]

    @property
    def said(self) -> list[Turn]:
        """What the agents have said, failed turns left out."""
        return [turn for turn in self.turns if turn.number is not None and turn.is_answer]

    def agent(self, side: Side) -> Agent:
        return next(agent for agent in self.conversation.agents.all() if agent.side == side)

    def spent(self) -> tuple[int, Decimal]:
        """Tokens in and out and US dollars of all attempts, those that failed included."""
        tokens = sum((turn.input_tokens or 0) + (turn.output_tokens or 0) for turn in self.attempts)
        return tokens, sum((turn.cost for turn in self.attempts if turn.cost is not None), Decimal(0))

    def stand_still(self, state: str, reason: str, note: str = "") -> None:
        Conversation.objects.filter(pk=self.conversation.pk, state=State.RUNNING).update(
            state=state, reason=reason, note=note, is_pause_asked=False, moved_at=timezone.now()
        )


def _hold(conversation_id: UUID, owner: User | None = None) -> _Held:
    """Raises NotFound where there is none, it is deleted, or it is somebody else's."""
    found = Conversation.objects.kept().filter(pk=conversation_id, owner__is_active=True)
    if owner is not None:
        found = found.filter(owner=owner)
    conversation = (
        found.select_for_update(of=("self",))
        .prefetch_related(Prefetch("agents", Agent.objects.select_related("model__endpoint")))
        .first()
    )
    if conversation is None:
        raise NotFound
    return _Held(conversation, list(conversation.turns.defer("reasoning", "error_message")))


@transaction.atomic
def conversation_run(*, conversation_id: UUID, owner: User, is_single: bool = False) -> bool:
    """Let it go on, to its end or for a single turn; return whether a runner is to be started.

    A last turn that failed is tried again. Raises NotFound, IsOver, AgentGone, and StillSpeaking where it is under way
    and a single turn is asked for.
    """
    held = _hold(conversation_id, owner)
    conversation = held.conversation
    if conversation.is_running:
        if is_single:
            raise StillSpeaking
        Conversation.objects.filter(pk=conversation.pk).update(is_pause_asked=False)
        return False
    if len(held.said) >= conversation.max_turns:
        raise IsOver
    if not all(agent.model and agent.model.is_active for agent in conversation.agents.all()):
        raise AgentGone
    _start(conversation, is_single=is_single)
    return True


@transaction.atomic
def turn_retry(*, conversation_id: UUID, owner: User) -> None:
    """Have the last turn once more, and stand still behind it; a runner is to be started.

    The earlier attempt is kept, and stands again should the new one fail. Raises NotFound, StillSpeaking, AgentGone,
    NothingToRetry.
    """
    held = _hold(conversation_id, owner)
    if held.conversation.is_running:
        raise StillSpeaking
    last = held.turns[-1:]
    if not last or last[0].number is None:
        raise NothingToRetry
    agent = held.agent(Side(last[0].speaker))
    if agent.model is None or not agent.model.is_active:
        raise AgentGone
    Turn.objects.filter(pk=last[0].pk).update(is_current=False)
    _start(held.conversation, is_single=True)


@transaction.atomic
def turn_begin(*, conversation_id: UUID) -> Request | None:
    """The next turn of a conversation that is under way, stored as waiting; None where it stands still, or has come to
    stand still because nothing may be asked."""
    return _begin(_hold(conversation_id))


@transaction.atomic
def turn_next(*, conversation_id: UUID) -> Request | None:
    """A turn has ended: the next one, or None where the conversation comes to stand still, with the reason stored."""
    held = _hold(conversation_id)
    return _begin(held) if _goes_on(held) else None


def _begin(held: _Held) -> Request | None:
    conversation, turns = held.conversation, held.turns
    if not conversation.is_running or any(turn.is_live for turn in turns):
        return None
    said = held.said
    failed = [turn for turn in turns if turn.number is not None and not turn.is_answer]
    tokens, cost = held.spent()
    spent = budget_spent(rules_of(conversation), tokens=tokens, cost=cost)
    if spent or len(said) >= conversation.max_turns:
        held.stand_still(State.ENDED, spent or Reason.MAX_TURNS)
        return None
    agent = held.agent(next_side(conversation, said))
    try:
        if agent.model is None or not agent.model.is_active:
            raise AgentGone
        budget_check(user_id=conversation.owner_id, contenders=[agent.model])
    except TourneyError as error:
        held.stand_still(State.PAUSED, Reason.REFUSED, note=str(error))
        return None
    models_try(models=[agent.model])
    if failed:
        Turn.objects.filter(pk__in=[turn.pk for turn in failed]).update(is_current=False)
    is_last = bool(failed) and failed[-1] is turns[-1]
    position = failed[-1].position if is_last else max((turn.position for turn in turns), default=0) + 1
    turn = Turn.objects.create(
        conversation=conversation,
        position=position,
        number=len(said) + 1,
        speaker=agent.side,
        model=agent.model,
        attempt=1 + max((earlier.attempt for earlier in held.attempts if earlier.position == position), default=0),
        started_at=timezone.now(),
    )
    _moved(conversation.pk)
    return request_for(conversation=conversation, agent=agent, turns=turns, turn=turn)


def _goes_on(held: _Held) -> bool:
    """Whether another turn follows on the one that has ended; stores why not."""
    conversation = held.conversation
    if not conversation.is_running:
        return False
    last = [turn for turn in held.turns if turn.number is not None][-1:]
    if last and not last[0].is_answer:
        is_failed = last[0].status != Turn.Status.INTERRUPTED
        held.stand_still(State.PAUSED, Reason.FAILED if is_failed else Reason.INTERRUPTED)
        return False
    tokens, cost = held.spent()
    reason = stop_reason([turn.text for turn in held.said], rules_of(conversation), tokens=tokens, cost=cost)
    if reason:
        held.stand_still(State.ENDED, reason)
    elif conversation.is_pause_asked:
        held.stand_still(State.PAUSED, Reason.ASKED, note=conversation.note)
    return not reason and not conversation.is_pause_asked


@transaction.atomic
def turn_save(*, turn_id: UUID, record: GenerationRecord) -> None:
    """Store how far a turn is, or how it ended."""
    is_over = record.status not in Turn.LIVE
    refused = is_over and is_refusal(record.text, record.finish_reason)
    Turn.objects.filter(pk=turn_id).update(**asdict(record), is_refusal=refused)
    turn = Turn.objects.filter(pk=turn_id).select_related("conversation").first()
    if turn is None or not is_over:
        return
    _moved(turn.conversation_id)
    if turn.model_id:
        generation_note(model_id=turn.model_id, user_id=turn.conversation.owner_id, record=record)
    _earlier_attempt_stands(turn)


@transaction.atomic
def conversations_sweep(*, conversations: Iterable[Conversation] | None = None, before: datetime | None = None) -> int:
    """Let stand still what is stored as under way though nobody runs it any more; return how many.

    Without `conversations`: all. Those that took a step after `before` are spared; by default that is a moment ago.
    """
    # Those of experiments belong to a worker, whose job says whether it lives.
    running = Conversation.objects.select_for_update().filter(state=State.RUNNING, experiment=None)
    if conversations is not None:
        running = running.filter(pk__in=[conversation.pk for conversation in conversations])
    running = running.filter(moved_at__lte=before or timezone.now() - ORPHAN_AFTER)
    ids = list(running.values_list("pk", flat=True))
    turns = Turn.objects.filter(conversation__in=ids, is_current=True, status__in=Turn.LIVE)
    conversation_of = dict(turns.values_list("pk", "conversation"))
    alive = {conversation_of[id_] for id_ in live.alive(conversation_of)}
    orphans = [id_ for id_ in ids if id_ not in alive]
    turns.filter(conversation__in=orphans).update(status=Turn.Status.INTERRUPTED, finished_at=timezone.now())
    return Conversation.objects.filter(pk__in=orphans).update(
        state=State.PAUSED, reason=Reason.INTERRUPTED, note="", is_pause_asked=False, moved_at=timezone.now()
    )


def next_side(conversation: Conversation, said: Sequence[Turn]) -> Side:
    """Who speaks after these turns of the agents."""
    return Side(said[-1].speaker).other if said else Side(conversation.first_side)


def _start(conversation: Conversation, *, is_single: bool) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(
        state=State.RUNNING, reason="", note="", is_pause_asked=is_single, moved_at=timezone.now()
    )


def _moved(conversation_id: UUID) -> None:
    Conversation.objects.filter(pk=conversation_id).update(moved_at=timezone.now())


def _earlier_attempt_stands(turn: Turn) -> None:
    """Where a further attempt came to nothing, the last attempt that was an answer stands again."""
    if turn.status not in (Turn.Status.FAILED, Turn.Status.INTERRUPTED) or turn.attempt == 1:
        return
    earlier = Turn.objects.filter(conversation=turn.conversation_id, position=turn.position, attempt__lt=turn.attempt)
    answers = [attempt for attempt in earlier.order_by("-attempt") if attempt.is_answer]
    if answers:
        Turn.objects.filter(pk=turn.pk).update(is_current=False)
        Turn.objects.filter(pk=answers[0].pk).update(is_current=True)
        Conversation.objects.filter(pk=turn.conversation_id).update(
            note="The new attempt failed, so the earlier turn stands."
        )
