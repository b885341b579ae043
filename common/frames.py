"""What the frames of every WebSocket have in common: JSON objects with a `type`, read strictly. The whole protocol of a
socket stands in its app's events.py; docs/websocket.md describes it."""

from typing import TypeVar

import msgspec

from common.errors import TourneyError

Frame = TypeVar("Frame")
_encoder = msgspec.json.Encoder()


class FrameInvalid(TourneyError):
    code = "frame_invalid"
    message = "This message was not understood."


class FrameIn(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower, forbid_unknown_fields=True):
    """From the page."""


class FrameOut(msgspec.Struct, frozen=True, tag_field="type", tag=str.lower):
    """To the page."""


class Ping(FrameIn, frozen=True):
    pass


class Pong(FrameOut, frozen=True):
    pass


class Refused(FrameOut, frozen=True):
    code: str
    message: str


def decode(decoder: msgspec.json.Decoder[Frame], text: str, *, max_characters: int) -> Frame:
    """One frame from the page. Raises FrameInvalid."""
    if len(text) > max_characters:
        raise FrameInvalid("This message is too large.")
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise FrameInvalid from None


def encode(frame: FrameOut) -> str:
    return _encoder.encode(frame).decode()
