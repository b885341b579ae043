"""The log of turns: the seed's columns first and exactly so, then our own. One row for each turn of an agent."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from common.csv import csv_lines
from conversations.files.shape import answered
from conversations.models import Conversation, Side, Turn
from conversations.sampling import SAMPLED

SEED_COLUMNS = (
    "experiment_id", "turn_id", "scenario", "speaker_model", "responder_model", "content", "latency_ms",
    "input_tokens", "output_tokens", "finish_reason", "is_refusal",
)  # fmt: skip
OWN_COLUMNS = (
    "conversation", "experiment", "iteration", *SAMPLED, "speaker", "reasoning", "first_token_ms", "cost", "seed",
    "status", "error_kind", "upstream_model", "code_version", "started_at",
)  # fmt: skip
COLUMNS = (*SEED_COLUMNS, *OWN_COLUMNS)


def log_rows(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Yield a row for each turn that has ended, from `selectors.conversation_whole`."""
    models = {agent.side: agent.model_slug for agent in conversation.agents.all()}
    for turn in answered(conversation):
        yield log_row(conversation, models, turn)


def log_row(conversation: Conversation, models: Mapping[str, str], turn: Turn) -> dict[str, Any]:
    """The row of one turn of an agent; `models` holds the slug of each side. Reads loaded rows only."""
    side = Side(turn.speaker)
    return {
        "experiment_id": str(conversation.id),
        "turn_id": turn.number,
        "scenario": conversation.scenario.slug if conversation.scenario else conversation.category,
        "speaker_model": models[side],
        "responder_model": models[side.other],
        "content": turn.text,
        "latency_ms": turn.latency_ms,
        "input_tokens": turn.input_tokens,
        "output_tokens": turn.output_tokens,
        "finish_reason": turn.finish_reason,
        "is_refusal": turn.is_refusal,
        "conversation": str(conversation.id),
        "experiment": str(conversation.experiment_id) if conversation.experiment_id else None,
        "iteration": conversation.iteration,
        **{name: turn.sampling.get(name) for name in SAMPLED},
        "speaker": turn.speaker,
        "reasoning": turn.reasoning,
        "first_token_ms": turn.first_token_ms,
        "cost": None if turn.cost is None else float(turn.cost),
        "seed": conversation.seed,
        "status": turn.status,
        "error_kind": turn.error_kind,
        "upstream_model": turn.upstream_model,
        "code_version": turn.code_version,
        "started_at": turn.started_at and turn.started_at.isoformat(),
    }


def jsonl(conversation: Conversation) -> str:
    """One JSON object a turn."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in log_rows(conversation))


def csv(conversation: Conversation) -> str:
    """The same as CSV with a header; no cell is one that a spreadsheet would run."""
    return "".join(csv_lines(COLUMNS, ([row[name] for name in COLUMNS] for row in log_rows(conversation))))
