"""A pair as plain data, for the page and the API alike. Before the vote it holds nothing that tells a model: no ids of
conversations or turns, no figures, no reasoning, and of the names only those that the scenario gives. Who compares what
somebody else shares never learns ids, and how it began only where that is shared, too."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from common.rendered import render_cached
from conversations.comparing.services import WITHDRAW_WITHIN
from conversations.models import Conversation, ConversationPair, Experiment, Scenario, Side

LABELS = ("a", "b")


def pair_state(pair: ConversationPair) -> dict[str, Any]:
    """All of a pair from `selectors.pair_whole`."""
    shown = {"a": pair.conversation_a, "b": pair.conversation_b}
    parts = part_names(pair.conversation_a)
    scenario = scenario_shown(pair)
    is_decided = pair.decided_at is not None
    return {
        "id": str(pair.pk),
        "is_own": is_own(pair),
        "scenario": scenario.name if scenario else "",
        "category": scenario.category if scenario else "",
        "seed_prompt": pair.conversation_a.seed_prompt if scenario or is_own(pair) else None,
        "side": pair.side,
        "part": parts[Side(pair.side)] if pair.side else "",
        "parts": {side.value: parts[side] for side in Side},
        "conversations": [
            {"label": label, "turns": turns_shown(shown[label], parts)} | _revealed(pair, shown[label])
            for label in LABELS
        ],
        "is_decided": is_decided,
        "is_blind": pair.is_blind if is_decided else None,
        "preference": _preference(pair) if is_decided else None,
    }


def is_own(pair: ConversationPair) -> bool:
    return pair.conversation_a.owner_id == pair.voter_id


def scenario_shown(pair: ConversationPair) -> Scenario | None:
    """The scenario, where the voter may know it: their own, the library's, or one that is shared with them."""
    played = pair.conversation_a
    scenario, experiment = played.scenario, played.experiment
    is_shared = experiment is not None and experiment.sharing == Experiment.Sharing.PROMPTS
    return scenario if scenario and (is_own(pair) or scenario.owner_id is None or is_shared) else None


def part_names(conversation: Conversation) -> dict[Side, str]:
    """What the agents are called while nobody may know who they are: as the scenario calls them, else by their side. A
    name that somebody gave them may be that of a model."""
    scenario, agents = conversation.scenario, {agent.side: agent for agent in conversation.agents.all()}
    names = {side: getattr(scenario, f"name_{side}") if scenario else "" for side in Side}
    return {side: name if name and agents[side].name == name else str(side.label) for side, name in names.items()}


def turns_shown(conversation: Conversation, parts: dict[Side, str]) -> list[dict[str, Any]]:
    return [
        {
            "number": turn.number,
            "side": turn.speaker,
            "name": parts[Side(turn.speaker)],
            "text": turn.text,
            "html": render_cached(turn.text),
        }
        for turn in conversation.turns.all()
        if turn.number is not None and turn.is_answer
    ]


def _revealed(pair: ConversationPair, conversation: Conversation) -> dict[str, Any]:
    if pair.decided_at is None:
        return {"id": None, "agents": None}
    agents = [
        {"side": agent.side, "model": agent.model_slug, "model_name": agent.model.name if agent.model else ""}
        for agent in conversation.agents.all()
    ]
    return {"id": str(conversation.pk) if is_own(pair) else None, "agents": agents}


def _preference(pair: ConversationPair) -> dict[str, Any]:
    decided = pair.decided_at
    assert decided is not None
    left = WITHDRAW_WITHIN - (timezone.now() - decided)
    return {
        "choice": pair.choice,
        "reasons": pair.reasons,
        "comment": pair.comment,
        "created_at": decided.isoformat(),
        "is_withdrawn": pair.withdrawn_at is not None,
        "can_withdraw": pair.withdrawn_at is None and left > timedelta(0),
    }


def pair_row(pair: ConversationPair) -> dict[str, Any]:
    """A decided pair in a list, from `selectors.pairs_of`."""
    scenario = scenario_shown(pair)
    return {
        "id": str(pair.pk),
        "is_own": is_own(pair),
        "scenario": scenario.name if scenario else "",
        "side": pair.side,
        "choice": pair.choice,
        "models": [pair.model_a.slug, pair.model_b.slug],
        "is_blind": pair.is_blind,
        "is_withdrawn": pair.withdrawn_at is not None,
        "decided_at": pair.decided_at,
    }
