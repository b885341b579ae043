"""The whole frame protocol of `ws/conversations/{id}/`. Frames are JSON objects with a `type`; see docs/websocket.md.

A window only listens: what a person does goes through the API, and comes back to every window from here.
"""

from typing import Any

import msgspec

from conversations.errors import FrameInvalid

FRAME_MAX_CHARACTERS = 1_000


class Ping(msgspec.Struct, frozen=True, tag_field="type", tag="ping", forbid_unknown_fields=True):
    pass


_decoder: msgspec.json.Decoder[Ping] = msgspec.json.Decoder(Ping)


def parse(text: str) -> Ping:
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
    conversation: dict[str, Any]


class Turn(_Out, frozen=True):
    """A turn that is new, or has changed as a whole; it takes the place of one at the same position."""

    turn: dict[str, Any]


class Analysis(_Out, frozen=True):
    """An analysis that is new, or has changed as a whole."""

    analysis: dict[str, Any]


class Progress(_Out, frozen=True):
    """How far the conversation is, and what may be done now."""

    progress: dict[str, Any]


class Queued(_Out, frozen=True):
    """It waits for a free place as number `place`; null: not any more. `id` is that of a turn or of an analysis."""

    id: str
    side: str
    place: int | None


class Reasoning(_Out, frozen=True):
    id: str
    side: str
    text: str


class Delta(_Out, frozen=True):
    id: str
    side: str
    text: str


class Block(_Out, frozen=True):
    """A finished block; `tail` is the open text behind it."""

    id: str
    side: str
    html: str
    tail: str


class Finished(_Out, frozen=True):
    id: str
    side: str
    status: str
    html: str
    text: str
    metrics: dict[str, Any]
    is_refusal: bool


class Failed(_Out, frozen=True):
    id: str
    side: str
    kind: str
    message: str


class Refused(_Out, frozen=True):
    code: str
    message: str


class Pong(_Out, frozen=True):
    pass


ServerFrame = (
    Snapshot | Turn | Analysis | Progress | Queued | Reasoning | Delta | Block | Finished | Failed | Refused | Pong
)
_encoder = msgspec.json.Encoder()


def encode(frame: ServerFrame) -> str:
    return _encoder.encode(frame).decode()
