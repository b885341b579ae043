"""Records of generations that have ended, as live generations make them."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from providers.live_types import GenerationRecord


def ended(**fields: Any) -> GenerationRecord:
    """A whole answer of 10 and 20 tokens for three cents, ended just now, unless `fields` say otherwise."""
    now = datetime.now(UTC)
    values: dict[str, Any] = {
        "status": "finished",
        "text": "Because.",
        "finish_reason": "stop",
        "latency_ms": 900,
        "first_token_ms": 200,
        "input_tokens": 10,
        "output_tokens": 20,
        "cost": Decimal("0.03"),
        "started_at": now,
        "finished_at": now,
    }
    return GenerationRecord(**values | fields)


def failed(kind: str = "upstream", **fields: Any) -> GenerationRecord:
    """A failure before the first token."""
    nothing = {"text": "", "finish_reason": "", "first_token_ms": None, "cost": None}
    tokens = {"input_tokens": None, "output_tokens": None}
    return ended(status="failed", error_kind=kind, **nothing | tokens | fields)
