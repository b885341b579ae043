"""What a live generation tells its viewers and its owner. Frozen, and without any I/O."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class GenerationRecord:
    """How far a generation is, or how it ended. The fields are the columns of GeneratedText; times in ms, cost in US
    dollars."""

    status: str
    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""
    error_kind: str = ""
    error_message: str = ""
    latency_ms: int | None = None
    first_token_ms: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LiveView:
    """All that a viewer needs who comes late: the finished blocks, the open text behind them, the reasoning."""

    id: UUID
    status: str
    text: str
    html: str
    tail: str
    reasoning: str


@dataclass(frozen=True, slots=True)
class Delta:
    """More open text."""

    id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """Finished markdown to append, sanitised; `tail` is the open text that is left, in place of what there was."""

    id: UUID
    html: str
    tail: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The last update: the whole answer as HTML, and the record as it was stored."""

    id: UUID
    html: str
    record: GenerationRecord


Update = Delta | Reasoning | Block | Ended
Viewer = Callable[[Update], None]  # called on the event loop; must not block
Save = Callable[[UUID, GenerationRecord], Awaitable[None]]
