"""The interface between Tourney and whatever answers: a list of messages in, a stream of events out.

Pure: no Django, no app. An adapter speaks one wire; what is the same for all of them (retries, timeouts, limits,
metrics) is in `providers/client.py`.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a request may say about how to sample. None leaves it to the upstream."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the upstream counted them; None where it did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class FinishReason(StrEnum):
    """Why a model stopped, in one vocabulary for all wires."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    TOOL = "tool"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a stream that ended well."""

    reason: FinishReason
    usage: Usage = Usage()


Event = TextDelta | ReasoningDelta | Finished


class ErrorKind(StrEnum):
    """The closed list of what can go wrong with an upstream."""

    AUTH = "auth"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_REQUEST = "bad_request"
    CONTENT_FILTER = "content_filter"
    CONTEXT_LENGTH = "context_length"
    UPSTREAM = "upstream"
    CANCELLED = "cancelled"


class ProviderError(Exception):
    """The one error that an adapter raises.

    `detail` is the upstream's own words, for the operator only: nobody who judges may see it. `retry_after` is in
    seconds, where the upstream named it.
    """

    def __init__(self, kind: ErrorKind, detail: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(detail or kind.value)
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, until the first event (connecting included), between two events, for the whole answer."""

    connect: float = 10.0
    first_token: float = 60.0
    idle: float = 30.0
    total: float = 600.0


@dataclass(frozen=True, slots=True)
class Target:
    """Everything that is needed to ask one model: where, as whom, and how. Holds a key, so its repr hides it."""

    kind: str
    base_url: str
    upstream_id: str
    api_key: str = field(default="", repr=False)
    system_prompt: str = ""
    sampling: Sampling = Sampling()
    timeouts: Timeouts = Timeouts()
    input_price: float | None = None
    output_price: float | None = None


class Adapter(Protocol):
    """One wire. Raises ProviderError only; ends with exactly one Finished; closes its connection when it is closed."""

    def stream(
        self, target: Target, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[Event, None]: ...
