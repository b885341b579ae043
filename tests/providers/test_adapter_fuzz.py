"""Broken streams of every wire: one end each, and never a hang or another error than ours."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.adapters import anthropic, gemini, openai_chunks
from tests.providers.wires import Decoder, cut, hear

DECODERS = {"openai": openai_chunks.events, "anthropic": anthropic.events, "gemini": gemini.events}
# Events as they ought to be, to be bent.
WHOLE: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {"model": "m", "choices": [{"delta": {"content": "a", "reasoning_details": [{"text": "b"}]}}]},
        {"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [{"text": "c"}]}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": {"prompt_tokens": 1}}},
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 2}}},
        {"error": {"code": 429, "message": "busy"}},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "a"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    ],
    "gemini": [
        {"candidates": [{"content": {"parts": [{"text": "a", "thought": True}, {"text": "b"}]}}], "modelVersion": "m"},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1, "thoughtsTokenCount": 2}},
        {"promptFeedback": {"blockReason": "SAFETY"}},
        {"error": {"code": 503, "message": "busy", "details": [{"retryDelay": "3s"}]}},
    ],
}
ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), st.just("\ud83d")
)
VALUE = st.recursive(ODD, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner))


@st.composite
def bodies(draw: st.DrawFn, wire: str) -> bytes:
    """Events in any order, some of them bent, cut off or not JSON at all, with any ends of lines."""
    body = b""
    for _ in range(draw(st.integers(0, 6))):
        event = json.loads(json.dumps(draw(st.sampled_from(WHOLE[wire]))))
        if draw(st.booleans()):
            _bend(draw, event)
        data = json.dumps(event).encode()
        if draw(st.integers(0, 5)) == 0:
            place = draw(st.integers(0, len(data)))
            data = data[:place] + draw(st.binary(max_size=6))
        body += draw(st.sampled_from([b"data: ", b"data:", b"event: x\ndata: ", b": ping\n\ndata: ", b""])) + data
        body += draw(st.sampled_from([b"\n\n", b"\r\n\r\n", b"\r\r", b"\n", b""]))
    return body + draw(st.sampled_from([b"", b"data: [DONE]\n\n", b"data: {", b"\xff\xfe"]))


def _bend(draw: st.DrawFn, event: Any) -> None:
    """Replace one value, somewhere inside."""
    place = event
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or draw(st.booleans()):
            place[key] = draw(VALUE)
            return
        place = place[key]


@pytest.mark.parametrize("wire", DECODERS)
@settings(max_examples=150)
@given(data=st.data())
def test_a_broken_stream_has_one_end(wire: str, data: st.DataObject) -> None:
    body = data.draw(bodies(wire))
    seed = data.draw(st.sampled_from([0, 1, 7]))
    hear(DECODERS[wire], cut(body, seed) if len(body) > 1 else [body])


@pytest.mark.parametrize("wire", DECODERS)
@settings(max_examples=150)
@given(pieces=st.lists(st.binary(max_size=40), max_size=6))
def test_bytes_of_any_kind_have_one_end(wire: str, pieces: list[bytes]) -> None:
    hear(DECODERS[wire], [b"data: ", *pieces])


@pytest.mark.parametrize(
    ("decoder", "body"),
    [
        (
            anthropic.events,
            b'data: {"type":"content_block_delta","delta":{"text":"a\\ud83d"}}\n\ndata: {"type":"message_stop"}\n\n',
        ),
        (gemini.events, b'data: {"candidates":[{"content":{"parts":[{"text":"a\xff"}]},"finishReason":"STOP"}]}\n\n'),
    ],
)
def test_half_a_character_costs_no_answer(decoder: Decoder, body: bytes) -> None:
    heard = hear(decoder, [body])
    assert (heard.text, heard.error) == ("a\ufffd", None)
