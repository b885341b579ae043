"""The whole frame protocol of `ws/conversations/{id}/`. Frames are JSON objects with a `type`; see docs/websocket.md.

A window only listens: what a person does goes through the API, and comes back to every window from here.
"""

from typing import Any

import msgspec

from common.frames import FrameOut, Ping, Pong, Refused, decode

FRAME_MAX_CHARACTERS = 1_000


_decoder: msgspec.json.Decoder[Ping] = msgspec.json.Decoder(Ping)


def parse(text: str) -> Ping:
    """One frame from the client. Raises FrameInvalid."""
    return decode(_decoder, text, max_characters=FRAME_MAX_CHARACTERS)


class Snapshot(FrameOut, frozen=True):
    conversation: dict[str, Any]


class Turn(FrameOut, frozen=True):
    """A turn that is new, or has changed as a whole; it takes the place of one at the same position."""

    turn: dict[str, Any]


class Analysis(FrameOut, frozen=True):
    """An analysis that is new, or has changed as a whole."""

    analysis: dict[str, Any]


class Progress(FrameOut, frozen=True):
    """How far the conversation is, and what may be done now."""

    progress: dict[str, Any]


class Queued(FrameOut, frozen=True):
    """It waits for a free place as number `place`; null: not any more. `id` is that of a turn or of an analysis."""

    id: str
    side: str
    place: int | None


class Reasoning(FrameOut, frozen=True):
    id: str
    side: str
    text: str


class Delta(FrameOut, frozen=True):
    id: str
    side: str
    text: str


class Block(FrameOut, frozen=True):
    """A finished block; `tail` is the open text behind it."""

    id: str
    side: str
    html: str
    tail: str


class Finished(FrameOut, frozen=True):
    id: str
    side: str
    status: str
    html: str
    text: str
    metrics: dict[str, Any]
    is_refusal: bool


class Failed(FrameOut, frozen=True):
    id: str
    side: str
    kind: str
    message: str


ServerFrame = (
    Snapshot | Turn | Analysis | Progress | Queued | Reasoning | Delta | Block | Finished | Failed | Refused | Pong
)
