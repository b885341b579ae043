"""The interface between Tourney and whatever answers: a list of messages in, a stream of events out.

Pure: no Django, no app. An adapter speaks one wire; what is the same for all of them (retries, timeouts, limits,
metrics) is in `providers/client.py`.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal, Protocol

import msgspec

Role = Literal["system", "user", "assistant"]
# Where requests may go: anywhere; the internet and this machine; the internet only.
AddressRule = Literal["allow", "loopback", "forbid"]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message: checked, resized and without metadata."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str
    images: tuple[Image, ...] = ()


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
    reasoning_tokens: int | None = None  # part of output_tokens
    cached_tokens: int | None = None  # part of input_tokens: read from the upstream's own prompt cache


class FinishReason(StrEnum):
    """Why a model stopped, in one vocabulary for all wires."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    TOOL = "tool"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Headroom:
    """What an upstream says is left of its limits; None where it does not say. `reset` is in seconds."""

    requests: int | None = None
    tokens: int | None = None
    reset: float | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """The upstream has accepted the request; nothing is written yet. At most one, and before all else."""

    request_id: str = ""
    headroom: Headroom = Headroom()


WAKING = -1


@dataclass(frozen=True, slots=True)
class Queued:
    """The request waits for a free place, as number `place` in line; 1 is next, 0 waits no more, and WAKING waits for
    an engine of ours that slept. From the client, never an adapter."""

    place: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a stream that ended well; with the name by which the upstream called its model."""

    reason: FinishReason
    usage: Usage = Usage()
    upstream_model: str = ""


Event = Opened | TextDelta | ReasoningDelta | Finished


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
    seconds, where the upstream named it. `request_id` is the upstream's name of the request, where it gave one.
    """

    def __init__(
        self, kind: ErrorKind, detail: str = "", *, retry_after: float | None = None, request_id: str = ""
    ) -> None:
        super().__init__(detail or kind.value)
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.request_id = request_id

    def forget(self, secret: str) -> None:
        """Take a secret out of the words, wherever it stands in them."""
        if secret and secret in self.detail:
            self.detail = self.detail.replace(secret, "…")
            self.args = (self.detail,)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: to connect, until the first event (connecting included), between two events, for the whole answer."""

    connect: float = 10.0
    first_token: float = 60.0
    idle: float = 30.0
    total: float = 600.0


class Priority(IntEnum):
    """Who goes first where an endpoint's places are taken."""

    INTERACTIVE = 0
    BATCH = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """What one endpoint allows; None where nothing is known, so that only its own refusals say. `key` names the
    endpoint: all who ask it share its limits. What its refusals say is kept for each `model` apart."""

    key: str = ""
    model: str = ""
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    streams: int | None = None
    model_requests_per_minute: int | None = None


class Quirks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """How a service or a model differs from others on its wire; data, so that no adapter branches on names."""

    asks_usage: bool = True
    """Whether the request may ask for the count of tokens: some services send it unasked, and fail or hang if asked."""
    max_tokens_field: str = "max_tokens"
    """`max_completion_tokens` for OpenAI's reasoning models."""
    unsupported: tuple[str, ...] = ()
    """Fields of Sampling that the model refuses, and that are therefore left out."""
    system_role: str = "system"
    """`developer` for OpenAI's reasoning models; `user` where a chat template has no system message."""
    extra_body: dict[str, Any] = {}
    """Sent along with every request as it is, for example {"reasoning_effort": "low"}."""
    extra_headers: dict[str, str] = {}
    requests_per_minute: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Of this model alone, beside what all models of the endpoint share."""


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
    limits: Limits = Limits()
    quirks: Quirks = field(default_factory=Quirks)
    context_window: int | None = None
    addresses: AddressRule = "allow"
    engine: str = ""  # the endpoint's slug, where an engine of ours is behind it, which may sleep


class Adapter(Protocol):
    """One wire. Raises ProviderError only; ends with exactly one Finished; closes its connection when it is closed."""

    def stream(
        self, target: Target, messages: Sequence[Message], sampling: Sampling
    ) -> AsyncGenerator[Event, None]: ...
