"""Every write of conversations. How they are made is in making.py, what is written turn by turn in turns.py, scenarios
in scenarios.py, and what came of a model's reading in analyses.py; all are called from here."""

import uuid
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User
from common.errors import NotFound
from common.limits import hit
from common.text import is_blank
from conversations import selectors
from conversations.analyses import analyses_sweep, analysis_begin, analysis_retry, analysis_save
from conversations.errors import ConversationInvalid
from conversations.making import (
    LINE_MAX_CHARACTERS,
    AgentSpec,
    NewConversation,
    clean,
    conversation_create,
    conversations_create,
    rules_check,
)
from conversations.models import Agent, Conversation, Turn
from conversations.scenarios import (
    scenario_copy,
    scenario_create,
    scenario_edit,
    scenarios_import,
    scenarios_seed,
    scenarios_yaml,
)
from conversations.stopping import Rules
from conversations.turns import conversation_run, conversations_sweep, turn_begin, turn_next, turn_retry, turn_save

__all__ = [
    "AgentSpec", "NewConversation", "Rules",
    "analyses_sweep", "analysis_begin", "analysis_retry", "analysis_save",
    "conversation_branch", "conversation_create", "conversation_delete", "conversation_extend", "conversation_inject",
    "conversation_named", "conversation_pause", "conversation_run", "conversation_stop", "conversation_watch",
    "conversations_create", "conversations_sweep", "rules_check",
    "scenario_copy", "scenario_create", "scenario_edit", "scenarios_import", "scenarios_seed", "scenarios_yaml",
    "turn_begin", "turn_next", "turn_retry", "turn_save",
]  # fmt: skip

WATCH_NOTED_EVERY = timedelta(seconds=5)


@transaction.atomic
def conversation_pause(*, conversation_id: UUID, owner: User) -> None:
    """Let it stand still after the turn that is being written. Raises NotFound; nothing where it is not under way."""
    _own(conversation_id, owner)
    Conversation.objects.filter(pk=conversation_id, state=Conversation.State.RUNNING).update(is_pause_asked=True)


@transaction.atomic
def conversation_stop(*, conversation_id: UUID, owner: User) -> list[UUID]:
    """End it now; return the turns that are being written and are to be stopped. Raises NotFound."""
    conversation = _own(conversation_id, owner)
    if conversation.state != Conversation.State.ENDED:
        _stand_still(conversation, Conversation.State.ENDED, Conversation.Reason.STOPPED)
    live = conversation.turns.filter(is_current=True, status__in=Turn.LIVE)
    return list(live.values_list("pk", flat=True))


def conversation_watch(*, conversation: Conversation) -> None:
    """Note that somebody looks on while a worker plays it, who will then let be seen what is being written."""
    now = timezone.now()
    if conversation.watched_at is None or conversation.watched_at < now - WATCH_NOTED_EVERY:
        Conversation.objects.filter(pk=conversation.pk).update(watched_at=now)


@transaction.atomic
def conversation_extend(*, conversation_id: UUID, owner: User, turns: int) -> None:
    """Allow so many turns more; one that had ended can go on. Raises NotFound, ConversationInvalid."""
    conversation = _own(conversation_id, owner)
    done = conversation.turns.filter(is_current=True, number__isnull=False).count()
    most = conversation.max_turns if conversation.state != Conversation.State.ENDED else done
    if turns < 1 or most + turns > settings.CONVERSATION_TURNS_MAX:
        raise ConversationInvalid(
            f"A conversation has at most {settings.CONVERSATION_TURNS_MAX} turns, and this one has {done}."
        )
    conversation.max_turns = most + turns
    if conversation.state == Conversation.State.ENDED:
        conversation.state, conversation.reason, conversation.note = Conversation.State.PAUSED, "", ""
    conversation.save(update_fields=["max_turns", "state", "reason", "note"])


@transaction.atomic
def conversation_inject(*, conversation_id: UUID, owner: User, text: str) -> Turn:
    """Add a moderator's line, which both agents hear before their next turn. Raises NotFound, ConversationInvalid."""
    conversation = _own(conversation_id, owner)
    text = clean(text.strip(), LINE_MAX_CHARACTERS, "line")
    if is_blank(text):
        raise ConversationInvalid("Write what the moderator says.")
    last = conversation.turns.aggregate(last=Max("position"))["last"] or 0
    now = timezone.now()
    # So that a worker which keeps the conversation in memory sees that there is something new.
    Conversation.objects.filter(pk=conversation_id).update(moved_at=now)
    return Turn.objects.create(
        conversation=conversation,
        position=last + 1,
        speaker=Turn.Speaker.MODERATOR,
        text=text,
        status=Turn.Status.FINISHED,
        started_at=now,
        finished_at=now,
    )


@transaction.atomic
def conversation_branch(*, conversation_id: UUID, owner: User, position: int) -> Conversation:
    """A conversation of its own that shares all up to `position` (0 for nothing) and can go on otherwise.

    Raises NotFound, TooMany.
    """
    hit(f"conversations:{owner.pk}", limit=settings.CONVERSATIONS_PER_HOUR, seconds=3600)
    original = selectors.conversation_whole(conversation_id=conversation_id, viewer=owner)
    turns = [turn for turn in original.turns.all() if turn.position <= position and not turn.is_live]
    if position and not any(turn.position == position for turn in turns):
        raise NotFound("There is no such turn to branch from.")
    agents = list(original.agents.all())
    said = sum(turn.number is not None for turn in turns)
    branch = Conversation.objects.get(pk=original.pk)
    branch.pk, branch._state.adding = uuid.uuid4(), True
    branch.branched_from = original
    branch.experiment = branch.cell = branch.iteration = None
    branch.state, branch.reason = Conversation.State.PAUSED, Conversation.Reason.BRANCHED
    branch.note, branch.is_pause_asked, branch.named_at = "", False, None
    branch.max_turns = max(branch.max_turns, said + 1)
    branch.save(force_insert=True)
    for agent in agents:
        agent.pk, agent._state.adding, agent.conversation = None, True, branch
    for turn in turns:
        turn.pk, turn._state.adding, turn.conversation = uuid.uuid4(), True, branch
        turn.attempt, turn.cost = 1, None  # it was paid for once, and counts in the original
    Agent.objects.bulk_create(agents)
    Turn.objects.bulk_create(turns)
    return branch


def conversation_named(*, conversation_id: UUID) -> None:
    """Its owner has it before them with the names of its models: a vote of theirs on it is no longer blind."""
    Conversation.objects.filter(pk=conversation_id, named_at=None).update(named_at=timezone.now())


def conversation_delete(*, conversation_id: UUID, owner: User) -> None:
    """Take it out of its owner's list. Raises NotFound."""
    if not Conversation.objects.kept().filter(pk=conversation_id, owner=owner).update(deleted_at=timezone.now()):
        raise NotFound


def _own(conversation_id: UUID, owner: User) -> Conversation:
    """Held until the transaction ends. Raises NotFound."""
    own = Conversation.objects.select_for_update().kept().filter(pk=conversation_id, owner=owner).first()
    if own is None:
        raise NotFound
    return own


def _stand_still(conversation: Conversation, state: str, reason: str) -> None:
    conversation.state, conversation.reason, conversation.note = state, reason, ""
    conversation.is_pause_asked, conversation.moved_at = False, timezone.now()
    conversation.save(update_fields=["state", "reason", "note", "is_pause_asked", "moved_at"])
