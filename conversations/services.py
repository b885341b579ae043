"""Every write of conversations. What is written turn by turn is in turns.py, scenarios in scenarios.py, and what came
of a model's reading in analyses.py; all are called from here."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import User
from common.errors import NotFound
from common.limits import hit
from common.text import is_blank, text_problem
from conversations import selectors
from conversations.analyses import analyses_sweep, analysis_begin, analysis_save
from conversations.errors import AgentGone, ConversationInvalid
from conversations.models import Agent, Conversation, Scenario, Side, Turn
from conversations.scenario_texts import filled, placeholders_check
from conversations.scenarios import (
    scenario_copy,
    scenario_create,
    scenario_edit,
    scenarios_import,
    scenarios_seed,
    scenarios_yaml,
)
from conversations.turns import conversation_run, conversations_sweep, turn_begin, turn_next, turn_retry, turn_save
from providers.models import LanguageModel

__all__ = [
    "AgentSpec", "Rules",
    "analyses_sweep", "analysis_begin", "analysis_save",
    "conversation_branch", "conversation_create", "conversation_delete", "conversation_extend", "conversation_inject",
    "conversation_pause", "conversation_run", "conversation_stop", "conversations_sweep",
    "scenario_copy", "scenario_create", "scenario_edit", "scenarios_import", "scenarios_seed", "scenarios_yaml",
    "turn_begin", "turn_next", "turn_retry", "turn_save",
]  # fmt: skip

NAME_MAX_CHARACTERS = 60
SYSTEM_MAX_CHARACTERS = 20_000
LINE_MAX_CHARACTERS = 20_000
TOKENS_MAX = 32_000


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """What a person says of an agent; `model` is a slug."""

    model: str
    temperature: float | None = None
    system: str = ""
    name: str = ""
    persona: str = ""
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """How long a conversation may go on. Budgets are in tokens and US dollars; None is no limit."""

    max_turns: int = 10
    stop_phrase: str = ""
    stops_on_goodbye: bool = False
    stops_on_repetition: bool = False
    token_budget: int | None = None
    cost_budget: Decimal | None = None


@transaction.atomic
def conversation_create(
    *,
    owner: User,
    agents: Mapping[Side, AgentSpec],
    seed_prompt: str = "",
    scenario: Scenario | None = None,
    first_side: Side | None = None,
    rules: Rules | None = None,
    seed: int | None = None,
    category: str = "",
    is_limited: bool = True,
) -> Conversation:
    """Make a conversation that has not begun. What is left empty comes from the scenario, whose placeholders are
    filled in. `is_limited`: it counts against what one person may start in an hour.

    Raises ConversationInvalid, ScenarioInvalid, TooMany.
    """
    if is_limited:
        hit(f"conversations:{owner.pk}", limit=settings.CONVERSATIONS_PER_HOUR, seconds=3600)
    rules = rules or Rules()
    rules_check(rules)
    models = {side: _model(agents[side].model) for side in Side}
    seed_prompt = seed_prompt.strip() or (scenario.opening if scenario else "")
    if is_blank(seed_prompt):
        raise ConversationInvalid("Write a seed prompt, or choose a scenario: the agent who begins is told it first.")
    names = {
        side: agents[side].name.strip() or (getattr(scenario, f"name_{side}") if scenario else "") for side in Side
    }
    first_side = first_side or Side(scenario.first_side if scenario else Side.A)
    systems = {
        side: agents[side].system.strip() or (getattr(scenario, f"system_{side}") if scenario else "") for side in Side
    }
    if scenario:
        placeholders_check({"seed_prompt": seed_prompt, **{f"agent_{side}.system": systems[side] for side in Side}})
        values = {
            side: {
                "name": names[side] or models[side].name,
                "other": names[side.other] or models[side.other].name,
                "persona": agents[side].persona,
                "turns": str(rules.max_turns),
            }
            for side in Side
        }
        seed_prompt = filled(seed_prompt, values[first_side])
        systems = {side: filled(systems[side], values[side]) for side in Side}
    _clean(seed_prompt, LINE_MAX_CHARACTERS, "seed prompt")
    conversation = Conversation.objects.create(
        owner=owner,
        scenario=scenario,
        category=category.strip() or (scenario.category if scenario else "") or "tourney",
        seed_prompt=seed_prompt,
        first_side=first_side,
        seed=seed,
        max_turns=rules.max_turns,
        stop_phrase=rules.stop_phrase.strip(),
        stops_on_goodbye=rules.stops_on_goodbye,
        stops_on_repetition=rules.stops_on_repetition,
        token_budget=rules.token_budget,
        cost_budget=rules.cost_budget,
    )
    Agent.objects.bulk_create(
        Agent(
            conversation=conversation,
            side=side,
            model=models[side],
            model_slug=models[side].slug,
            name=_clean(names[side], NAME_MAX_CHARACTERS, "name"),
            persona=_clean(agents[side].persona.strip(), SYSTEM_MAX_CHARACTERS, "persona"),
            system_prompt=_clean(systems[side], SYSTEM_MAX_CHARACTERS, "system prompt"),
            temperature=agents[side].temperature,
            max_tokens=agents[side].max_tokens,
        )
        for side in Side
    )
    return conversation


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
    text = _clean(text.strip(), LINE_MAX_CHARACTERS, "line")
    if is_blank(text):
        raise ConversationInvalid("Write what the moderator says.")
    last = conversation.turns.aggregate(last=Max("position"))["last"] or 0
    now = timezone.now()
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
    branch.note, branch.is_pause_asked = "", False
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


def conversation_delete(*, conversation_id: UUID, owner: User) -> None:
    """Take it out of its owner's list. Raises NotFound, StillSpeaking where it is under way."""
    if not Conversation.objects.kept().filter(pk=conversation_id, owner=owner).update(deleted_at=timezone.now()):
        raise NotFound


def rules_check(rules: Rules) -> None:
    """Raises ConversationInvalid where a conversation could not begin, or would have no end."""
    most = settings.CONVERSATION_TURNS_MAX
    if not 1 <= rules.max_turns <= most:
        words = f"Max turns must be from 1 to {most}."
        raise ConversationInvalid(words, fields={"max_turns": [words]})
    if rules.token_budget is not None and rules.token_budget < 1:
        raise ConversationInvalid("A token budget must be at least 1.")
    if rules.cost_budget is not None and rules.cost_budget <= 0:
        raise ConversationInvalid("A cost budget must be more than 0.")


def _model(slug: str) -> LanguageModel:
    model = LanguageModel.objects.select_related("endpoint").filter(slug=slug).first()
    if model is None:
        raise ConversationInvalid(f"There is no model “{slug}”. Choose one of the catalogue.")
    if not model.is_active:
        raise AgentGone(f"{model.name} cannot be asked. Choose another model.")
    return model


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


def _clean(text: str, limit: int, what: str) -> str:
    if problem := text_problem(text, limit=limit, what=what):
        raise ConversationInvalid(problem)
    return text
