"""How a conversation goes on, turn by turn. Each step is a transaction, so that a process that dies leaves a state
from which another goes on. Called through the services."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch
from django.utils import timezone

from accounts.models import User
from common.clock import lapsed
from common.errors import NotFound, TourneyError
from common.refusals import is_refusal
from conversations.course import Course, Stand
from conversations.errors import AgentGone, IsOver, NothingToRetry, StillSpeaking
from conversations.models import Agent, Conversation, Experiment, Side, Turn
from conversations.requests import Request, request_for
from providers import live
from providers.live import GenerationRecord
from providers.models import LanguageModel
from providers.services import budget_check, generation_note, models_try

State, Reason = Conversation.State, Conversation.Reason
# A conversation that took a step a moment ago may be between two turns.
ORPHAN_AFTER = timedelta(seconds=3)


def _hold(conversation_id: UUID, owner: User | None = None) -> Course:
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
    return Course(conversation, list(conversation.turns.defer("reasoning", "error_message")))


@transaction.atomic
def conversation_run(*, conversation_id: UUID, owner: User, is_single: bool = False) -> bool:
    """Let it go on, to its end or for a single turn; return whether a runner is to be started.

    A last turn that failed is tried again. Raises NotFound, IsOver, AgentGone, and StillSpeaking where it is under way
    and a single turn is asked for, or its experiment is being played.
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
    _not_a_workers(conversation)
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
    _not_a_workers(held.conversation)
    last = held.turns[-1:]
    if not last or last[0].number is None:
        raise NothingToRetry
    agent = held.agent(Side(last[0].speaker))
    if agent.model is None or not agent.model.is_active:
        raise AgentGone
    Turn.objects.filter(pk=last[0].pk).update(is_current=False)
    _start(held.conversation, is_single=True)


def _not_a_workers(conversation: Conversation) -> None:
    """Raises StillSpeaking where the one who plays its experiment may come to it, too."""
    held = Experiment.objects.filter(conversations=conversation, held_until__gt=timezone.now())
    if held.exclude(lapsed("held_until", timezone.now())).exists():
        raise StillSpeaking("Its experiment is being played, which goes on with it. Let that stand still first.")


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


def _begin(held: Course) -> Request | None:
    conversation, turns = held.conversation, held.turns
    if not conversation.is_running or any(turn.is_live for turn in turns):
        return None
    if stand := held.stand_before_next():
        _stand_still(conversation, stand)
        return None
    following = held.next_turn()
    try:
        model_check(following.agent.model, user_id=conversation.owner_id)
    except TourneyError as error:
        _stand_still(conversation, Stand(State.PAUSED, Reason.REFUSED, str(error)))
        return None
    if following.failed:
        Turn.objects.filter(pk__in=[turn.pk for turn in following.failed]).update(is_current=False)
    following.turn.save(force_insert=True)
    _moved(conversation.pk)
    return request_for(conversation=conversation, agent=following.agent, turns=turns, turn=following.turn)


def _goes_on(held: Course) -> bool:
    """Whether another turn follows on the one that has ended; stores why not."""
    if not held.conversation.is_running:
        return False
    if stand := held.stand_after_last():
        _stand_still(held.conversation, stand)
    return stand is None


def model_check(model: LanguageModel | None, *, user_id: int) -> None:
    """Refuse before a turn is asked for. Raises AgentGone, BudgetSpent, EndpointBudgetSpent."""
    if model is None or not model.is_active:
        raise AgentGone
    budget_check(user_id=user_id, contenders=[model])
    models_try(models=[model])


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
    earlier_attempt_stands(turn)


@transaction.atomic
def conversations_sweep(*, conversations: Iterable[Conversation] | None = None, before: datetime | None = None) -> int:
    """Let stand still what is stored as under way though nobody runs it any more; return how many.

    Without `conversations`: all. Those that took a step after `before` are spared; by default that is a moment ago.
    """
    # Those of experiments belong to a worker, whose job says whether it lives.
    running = Conversation.objects.select_for_update().filter(state=State.RUNNING, experiment=None)
    if conversations is not None:
        running = running.filter(pk__in=[conversation.pk for conversation in conversations])
    running = running.filter(lapsed("moved_at", before or timezone.now() - ORPHAN_AFTER))
    ids = list(running.values_list("pk", flat=True))
    turns = Turn.objects.filter(conversation__in=ids, is_current=True, status__in=Turn.LIVE)
    conversation_of = dict(turns.values_list("pk", "conversation"))
    alive = {conversation_of[id_] for id_ in live.alive(conversation_of)}
    orphans = [id_ for id_ in ids if id_ not in alive]
    turns.filter(conversation__in=orphans).update(status=Turn.Status.INTERRUPTED, finished_at=timezone.now())
    return Conversation.objects.filter(pk__in=orphans).update(
        state=State.PAUSED, reason=Reason.INTERRUPTED, note="", is_pause_asked=False, moved_at=timezone.now()
    )


def _start(conversation: Conversation, *, is_single: bool) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(
        state=State.RUNNING, reason="", note="", is_pause_asked=is_single, moved_at=timezone.now()
    )


def _stand_still(conversation: Conversation, stand: Stand) -> None:
    Conversation.objects.filter(pk=conversation.pk, state=State.RUNNING).update(
        state=stand.state, reason=stand.reason, note=stand.note, is_pause_asked=False, moved_at=timezone.now()
    )


def _moved(conversation_id: UUID) -> None:
    Conversation.objects.filter(pk=conversation_id).update(moved_at=timezone.now())


def earlier_attempt_stands(turn: Turn) -> None:
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
