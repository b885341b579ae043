"""The whole frame protocol of `ws/battles/{id}/`. Frames are JSON objects with a `type`; see docs/websocket.md."""

from typing import Any, Literal
from uuid import UUID

import msgspec

from common.frames import FrameIn, FrameOut, Ping, Pong, Refused, decode

FRAME_MAX_CHARACTERS = 200_000


class Prompt(FrameIn, frozen=True):
    text: str
    images: tuple[UUID, ...] = ()


class Stop(FrameIn, frozen=True):
    side: str | None = None


class Regenerate(FrameIn, frozen=True):
    side: str


class Preference(FrameIn, frozen=True):
    """One of a choice (a label, tie or both_bad) and a ranking (labels by rank, best first)."""

    choice: str = ""
    ranking: tuple[tuple[str, ...], ...] = ()
    reasons: tuple[str, ...] = ()
    comment: str = ""
    proof: str = ""


class Reaction(FrameIn, frozen=True):
    response: UUID
    value: Literal["like", "dislike"] | None


ClientFrame = Prompt | Stop | Regenerate | Preference | Reaction | Ping
_decoder: msgspec.json.Decoder[ClientFrame] = msgspec.json.Decoder(ClientFrame)


def parse(text: str) -> ClientFrame:
    """One frame from the client. Raises FrameInvalid."""
    return decode(_decoder, text, max_characters=FRAME_MAX_CHARACTERS)


class Snapshot(FrameOut, frozen=True):
    battle: dict[str, Any]


class Turn(FrameOut, frozen=True):
    turn: dict[str, Any]


class Waiting(FrameOut, frozen=True):
    """A fresh attempt has begun on a side."""

    side: str
    response: dict[str, Any]


class Queued(FrameOut, frozen=True):
    """An answer waits for a free place; `place` 1 is next, null where it may not be told. Without a message it does
    not wait any more."""

    side: str
    place: int | None
    message: str


class Reasoning(FrameOut, frozen=True):
    side: str
    text: str


class Delta(FrameOut, frozen=True):
    side: str
    text: str


class Block(FrameOut, frozen=True):
    """A finished block; `tail` is the open text behind it."""

    side: str
    html: str
    tail: str


class Finished(FrameOut, frozen=True):
    side: str
    status: str
    html: str
    text: str
    metrics: dict[str, Any] | None
    can_vote: bool


class Failed(FrameOut, frozen=True):
    side: str
    kind: str
    message: str
    can_vote: bool


class Reacted(FrameOut, frozen=True, tag="reaction"):
    response: str
    value: str | None


class Revealed(FrameOut, frozen=True):
    battle: dict[str, Any]


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
