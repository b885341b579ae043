"""The JSON file of a conversation. What `message_out` writes, `importing` reads back to the byte."""

from typing import Any

from conversations import selectors
from conversations.models import Agent, Analysis, Conversation, Side, Turn
from conversations.sampling import SAMPLED
from conversations.turns import State

MODERATOR = "moderator"
AGENTS = {Side.A: "agent_a", Side.B: "agent_b"}
# What a message keeps of its turn, under the names of the columns.
KEPT = (
    "status", "finish_reason", "error_kind", "latency_ms", "first_token_ms", "input_tokens", "output_tokens",
    "reasoning_tokens", "upstream_model", "sampling", "messages_hash", "code_version", "is_refusal",
)  # fmt: skip


def conversation_out(conversation: Conversation) -> dict[str, Any]:
    """The whole file, from `selectors.conversation_whole`; turns that are being written are left out."""
    turns = [turn for turn in conversation.turns.all() if not turn.is_live]
    agents = {agent.side: agent for agent in conversation.agents.all()}
    analyses = [analysis_out(one) for one in conversation.analyses.all() if not one.is_live]
    scenario = conversation.scenario
    ended = conversation.state in (State.PAUSED, State.ENDED)
    return {
        "id": str(conversation.id),
        "metadata": {
            "seed_prompt": conversation.seed_prompt,
            "category": conversation.category,
            "total_turns": sum(turn.number is not None and turn.is_answer for turn in turns),
            "max_turns": conversation.max_turns,
            "first": conversation.first_side,
            "seed": conversation.seed,
            "scenario": scenario and {"slug": scenario.slug, "version": scenario.version, "name": scenario.name},
            "created_at": conversation.created_at.isoformat(),
            "stop_reason": conversation.reason if ended else "",
        },
        "agents": {AGENTS[Side(side)]: agent_out(agents[side]) for side in Side},
        "messages": [message_out(turn, agents) for turn in turns],
        "analysis": analyses[-1] if analyses else None,
        "analyses": analyses,
    }


def agent_out(agent: Agent) -> dict[str, Any]:
    return {
        "model": agent.model_slug,
        **{name: getattr(agent, name) for name in SAMPLED},
        "name": agent.name,
        "persona": agent.persona,
        "system": agent.system_prompt,
    }


def message_out(turn: Turn, agents: dict[str, Agent]) -> dict[str, Any]:
    if turn.speaker == Turn.Speaker.MODERATOR:
        return {"turn": None, "agent": MODERATOR, "content": turn.text}
    return {
        "turn": turn.number,
        "agent": AGENTS[Side(turn.speaker)],
        "model": agents[turn.speaker].model_slug,
        "content": turn.text,
        "reasoning": turn.reasoning,
        **{name: getattr(turn, name) for name in KEPT},
        "cost": None if turn.cost is None else float(turn.cost),
        "started_at": turn.started_at and turn.started_at.isoformat(),
        "finished_at": turn.finished_at and turn.finished_at.isoformat(),
    }


def analysis_out(analysis: Analysis) -> dict[str, Any]:
    return {
        "model": analysis.model_slug,
        "prompt_version": analysis.prompt_version,
        "rubric": analysis.rubric,
        "turns_read": analysis.turns,
        "status": analysis.status,
        "text": analysis.text,
        "result": analysis.result,
    }


def answered(conversation: Conversation) -> list[Turn]:
    """The agents' turns that are in a log: all that have ended."""
    return [turn for turn in selectors.agents_turns(conversation) if not turn.is_live]
