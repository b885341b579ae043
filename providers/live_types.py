"""What a live generation tells its viewers and its owner. Frozen, and without any I/O."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from providers.adapters.base import Message, ProviderError, Target


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
    reasoning_tokens: int | None = None
    cost: Decimal | None = None
    messages_hash: str = ""
    sampling: dict[str, Any] = field(default_factory=dict)
    adapter: str = ""
    code_version: str = ""
    upstream_model: str = ""
    request_id: str = ""
    is_cached: bool = False
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LiveView:
    """All that a viewer needs who comes late: the finished blocks, the open text behind them, the reasoning, and the
    place in line where it waits for one."""

    id: UUID
    status: str
    text: str
    html: str
    tail: str
    reasoning: str
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """It waits in line, as number `place`; None: not any more."""

    id: UUID
    place: int | None


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


Update = Waiting | Delta | Reasoning | Block | Ended
Viewer = Callable[[Update], None]  # called on the event loop; must not block
Save = Callable[[UUID, GenerationRecord], Awaitable[None]]
# Asked when a generation failed before it had said a word: whom to ask instead, if anybody.
Instead = Callable[[UUID, ProviderError], Awaitable[tuple[Target, Sequence[Message]] | None]]
