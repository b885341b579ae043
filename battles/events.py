"""The whole frame protocol of `ws/battles/{id}/`. Frames are JSON objects with a `type`; See docs/websocket.md."""

from typing import Any, Literal
from uuid import UUID

import msgspec

from battles.errors import FrameInvalid

FRAME_MAX_CHARACTERS = 200_000


class _In(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower, forbid_unknown_fields=True):
    pass


class Prompt(_In, frozen=True):
    text: str
    images: tuple[UUID, ...] = ()


class Stop(_In, frozen=True):
    side: str | None = None


class Regenerate(_In, frozen=True):
    side: str


class Preference(_In, frozen=True):
    """One of a choice (a label, tie or both_bad) and a ranking (labels by rank, best first)."""

    choice: str = ""
    ranking: tuple[tuple[str, ...], ...] = ()
    reasons: tuple[str, ...] = ()
    comment: str = ""
    proof: str = ""


class Reaction(_In, frozen=True):
    response: UUID
    value: Literal["like", "dislike"] | None


class Ping(_In, frozen=True):
    pass


ClientFrame = Prompt | Stop | Regenerate | Preference | Reaction | Ping
_decoder: msgspec.json.Decoder[ClientFrame] = msgspec.json.Decoder(ClientFrame)


def parse(text: str) -> ClientFrame:
    """One frame from the client. Raises FrameInvalid."""
    if len(text) > FRAME_MAX_CHARACTERS:
        raise FrameInvalid("This message is too large.")
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise FrameInvalid from None


class _Out(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower):
    pass


class Snapshot(_Out, frozen=True):
    battle: dict[str, Any]


class Turn(_Out, frozen=True):
    turn: dict[str, Any]


class Waiting(_Out, frozen=True):
    """A fresh attempt has begun on a side."""

    side: str
    response: dict[str, Any]


class Queued(_Out, frozen=True):
    """An answer waits for a free place; `place` 1 is next, null where it may not be told. Without a message it does
    not wait any more."""

    side: str
    place: int | None
    message: str


class Reasoning(_Out, frozen=True):
    side: str
    text: str


class Delta(_Out, frozen=True):
    side: str
    text: str


class Block(_Out, frozen=True):
    """A finished block; `tail` is the open text behind it."""

    side: str
    html: str
    tail: str


class Finished(_Out, frozen=True):
    side: str
    status: str
    html: str
    text: str
    metrics: dict[str, Any] | None
    can_vote: bool


class Failed(_Out, frozen=True):
    side: str
    kind: str
    message: str
    can_vote: bool


class Reacted(_Out, frozen=True, tag="reaction"):
    response: str
    value: str | None


class Revealed(_Out, frozen=True):
    battle: dict[str, Any]


class Refused(_Out, frozen=True):
    code: str
    message: str


class Pong(_Out, frozen=True):
    pass


ServerFrame = (
    Snapshot
    | Turn
    | Waiting
    | Queued
    | Reasoning
    | Delta
    | Block
    | Finished
    | Failed
    | Reacted
    | Revealed
    | Refused
    | Pong
)
_encoder = msgspec.json.Encoder()


def encode(frame: ServerFrame) -> str:
    return _encoder.encode(frame).decode()
