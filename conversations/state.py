"""A conversation as plain data, for the pages, the API and the frames alike."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from common.rendered import render_cached
from conversations import selectors
from conversations.analysis_texts import result_markdown
from conversations.course import next_side
from conversations.models import Agent, Analysis, Conversation, Side, Turn
from conversations.sampling import SAMPLED
from providers.adapters.base import ErrorKind
from providers.errors import SENTENCES
from providers.live import LiveView
from providers.models import GeneratedText

TITLE_CHARACTERS = 80
INTERRUPTED = "The server was restarted while this was written. You can try again."


def conversation_state(conversation: Conversation, live: Mapping[UUID, LiveView] | None = None) -> dict[str, Any]:
    """All of a conversation from `selectors.conversation_whole`; `live` holds what is being written now."""
    live = live or {}
    scenario = conversation.scenario
    return {
        "id": str(conversation.id),
        "title": title_of(conversation),
        "created_at": conversation.created_at.isoformat(),
        "category": conversation.category,
        "seed_prompt": conversation.seed_prompt,
        "first_side": conversation.first_side,
        "scenario": scenario and {"slug": scenario.slug, "version": scenario.version, "name": scenario.name},
        "branched_from": str(conversation.branched_from_id) if conversation.branched_from_id else None,
        "agents": [agent_state(agent) for agent in conversation.agents.all()],
        "rules": {
            "max_turns": conversation.max_turns,
            "stop_phrase": conversation.stop_phrase,
            "stops_on_goodbye": conversation.stops_on_goodbye,
            "stops_on_repetition": conversation.stops_on_repetition,
            "token_budget": conversation.token_budget,
            "cost_budget": None if conversation.cost_budget is None else float(conversation.cost_budget),
        },
        "progress": progress_state(conversation),
        "turns": [turn_state(turn, live.get(turn.id)) for turn in conversation.turns.all()],
        "analyses": [analysis_state(one, live.get(one.id)) for one in conversation.analyses.all()],
    }


def progress_state(conversation: Conversation) -> dict[str, Any]:
    """How far it is, why it stands still, and what may be done now."""
    turns = selectors.agents_turns(conversation)
    said = [turn for turn in turns if turn.is_answer]
    tokens = [turn.input_tokens or 0 for turn in turns] + [turn.output_tokens or 0 for turn in turns]
    costs = [turn.cost for turn in turns if turn.cost is not None]
    stands, has_room = not conversation.is_running, len(said) < conversation.max_turns
    last = list(conversation.turns.all())[-1:]
    return {
        "state": conversation.state,
        "reason": conversation.reason,
        "reason_text": conversation.get_reason_display() if conversation.reason else "",
        "note": conversation.note,
        "is_pause_asked": conversation.is_pause_asked,
        "turns_done": len(said),
        "max_turns": conversation.max_turns,
        "next_side": next_side(conversation, said),
        "tokens": sum(tokens),
        "cost": float(sum(costs)) if costs else None,
        "can_run": stands and has_room,
        "can_pause": conversation.is_running and not conversation.is_pause_asked,
        "can_stop": conversation.state != Conversation.State.ENDED,
        "can_retry": stands and bool(last) and last[0].number is not None,
        "can_extend": stands,
    }


def agent_state(agent: Agent) -> dict[str, Any]:
    return {
        "side": agent.side,
        "name": agent.shown_name,
        "model": agent.model_slug,
        "model_name": agent.model.name if agent.model else agent.model_slug,
        "organisation": agent.model.organisation if agent.model else "",
        "is_active": bool(agent.model and agent.model.is_active),
        **{name: getattr(agent, name) for name in SAMPLED},
        "persona": agent.persona,
        "system": agent.system_prompt,
    }


def turn_state(turn: Turn, view: LiveView | None = None) -> dict[str, Any]:
    """A turn as stored, or as it is being written where `view` is given."""
    return _written(turn, view) | {
        "position": turn.position,
        "number": turn.number,
        "speaker": turn.speaker,
        "attempt": turn.attempt,
        "is_refusal": turn.is_refusal,
    }


def analysis_state(analysis: Analysis, view: LiveView | None = None) -> dict[str, Any]:
    """An analysis; its `html` is what was understood, or what was written where nothing was."""
    state = _written(analysis, view)
    if not view and analysis.result:
        state["html"] = render_cached(result_markdown(analysis.result))
    return state | {
        "model": analysis.model_slug,
        "model_name": analysis.model.name if analysis.model else analysis.model_slug,
        "prompt_version": analysis.prompt_version,
        "rubric": analysis.rubric,
        "turns_read": analysis.turns,
        "result": analysis.result,
        "problem": analysis.problem,
        "created_at": analysis.created_at.isoformat(),
    }


def _written(row: Turn | Analysis, view: LiveView | None) -> dict[str, Any]:
    """What a turn and an analysis share: the text, and how that went."""
    kind, message = failure_of(row)
    state = {
        "id": str(row.id),
        "status": row.status,
        "text": row.text,
        "html": "",
        "tail": "",
        "reasoning": row.reasoning,
        "kind": kind,
        "message": message,
        "metrics": metrics_of(row),
    }
    if view:
        state |= {"status": view.status, "text": view.text, "reasoning": view.reasoning}
        state |= {"html": view.html, "tail": view.tail}
    elif row.text:
        state["html"] = render_cached(row.text)
    return state


def metrics_of(row: GeneratedText) -> dict[str, Any]:
    return {
        "latency_ms": row.latency_ms,
        "first_token_ms": row.first_token_ms,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cost": None if row.cost is None else float(row.cost),
    }


def failure_of(row: GeneratedText) -> tuple[str, str]:
    """The kind of a failure and one sentence about it; both empty where there is none."""
    if row.status == row.Status.INTERRUPTED:
        return "interrupted", INTERRUPTED
    if row.status != row.Status.FAILED:
        return "", ""
    kind = ErrorKind(row.error_kind) if row.error_kind else ErrorKind.UPSTREAM
    return kind.value, SENTENCES[kind]


def title_of(conversation: Conversation) -> str:
    """The scenario's name, else the beginning of the seed prompt."""
    if conversation.scenario:
        return conversation.scenario.name
    words = " ".join(conversation.seed_prompt.split())
    return words if len(words) <= TITLE_CHARACTERS else f"{words[:TITLE_CHARACTERS]}…"


def conversation_row(conversation: Conversation) -> dict[str, Any]:
    """A conversation in a list, from `selectors.conversations_of`."""
    agents = {agent.side: agent for agent in conversation.agents.all()}
    return {
        "id": str(conversation.id),
        "title": title_of(conversation),
        "created_at": conversation.created_at,
        "category": conversation.category,
        "state": conversation.state,
        "state_label": conversation.get_state_display(),
        "reason": conversation.reason,
        "turns_done": getattr(conversation, "turns_done", 0),
        "max_turns": conversation.max_turns,
        "agents": [agents[side].shown_name for side in Side if side in agents],
        "models": [agents[side].model_slug for side in Side if side in agents],
    }
