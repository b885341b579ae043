"""Recordings of Anthropic and Gemini give what their own SDKs make of them, however they are cut."""

import json
from pathlib import Path
from typing import Any

import pytest

from providers.adapters import anthropic, gemini
from providers.adapters.base import ErrorKind, FinishReason, Image, Message, Sampling, Target, Usage
from tests.providers.wires import Decoder, cut, expected, hear

CUTS = range(12)
PICTURE = Message("user", "What is it?", (Image("image/png", b"\x89PNG"),))
TALK = [Message("system", "Be brief."), Message("user", "Hi"), Message("assistant", "Hello"), PICTURE]


def sse(*events: dict[str, Any]) -> list[bytes]:
    return [b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events]


@pytest.mark.parametrize("name", ["anthropic_prompt.0", "anthropic_stop_seq.0", "anthropic_thinking_stream.0"])
def test_a_recording_of_anthropic_gives_what_the_sdk_gave(shared_data: Path, name: str) -> None:
    recording = shared_data / "wires" / f"{name}.sse"
    said = expected(recording)
    for seed in CUTS:
        heard = hear(anthropic.events, cut(recording.read_bytes(), seed))
        assert heard.error is None
        assert (heard.text, heard.reasoning) == (said["text"], said["reasoning"])
        assert heard.reason == anthropic.FINISH_REASONS[said["finish_reason"]]
        assert heard.usage == Usage(said["usage"]["input_tokens"], said["usage"]["output_tokens"], None, 0)
        assert heard.model.startswith("claude-")


@pytest.mark.parametrize("name", ["gemini_stream.0", "gemini_stream_usage.0"])
def test_a_recording_of_gemini_gives_what_it_says(shared_data: Path, name: str) -> None:
    recording = shared_data / "wires" / f"{name}.sse"
    said = expected(recording)
    used = said["usage"]
    thoughts = used.get("thoughtsTokenCount")
    for seed in CUTS:
        for body in (recording.read_bytes(), recording.read_bytes().replace(b"\n", b"\r\n")):
            heard = hear(gemini.events, cut(body, seed))
            assert heard.error is None
            assert (heard.text, heard.reasoning) == (said["text"], said["reasoning"])
            assert heard.reason == gemini.FINISH_REASONS[said["finish_reason"]]
            output = used["candidatesTokenCount"] + (thoughts or 0)
            assert heard.usage == Usage(used["promptTokenCount"], output, thoughts, None)
            assert heard.model.startswith("gemini-")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, ErrorKind.RATE_LIMIT),
        ({"type": "rate_limit_error", "message": "slow"}, ErrorKind.RATE_LIMIT),
        ({"type": "api_error", "message": "oh"}, ErrorKind.UPSTREAM),
        ({"type": "invalid_request_error", "message": "prompt is too long: 9 tokens"}, ErrorKind.CONTEXT_LENGTH),
        ({"type": "authentication_error", "message": "key"}, ErrorKind.AUTH),
    ],
)
def test_an_error_in_anthropics_stream_has_a_kind(error: dict[str, str], kind: ErrorKind) -> None:
    heard = hear(anthropic.events, sse({"type": "ping"}, {"type": "error", "error": error}))
    assert heard.error is not None
    assert heard.error.kind is kind


def test_redacted_thinking_and_signatures_are_passed_over() -> None:
    heard = hear(
        anthropic.events,
        sse(
            {"type": "content_block_start", "content_block": {"type": "redacted_thinking", "data": "xyz"}},
            {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
            {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "abc"}},
            {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "No."}},
            {"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": {"output_tokens": 3}},
            {"type": "message_stop"},
        ),
    )
    assert (heard.text, heard.reasoning, heard.reason) == ("No.", "hm", FinishReason.REFUSAL)


@pytest.mark.parametrize("decoder", [anthropic.events, gemini.events])
def test_a_stream_without_its_end_is_a_lost_connection(decoder: Decoder) -> None:
    heard = hear(
        decoder,
        sse({"type": "content_block_delta", "delta": {"text": "a"}, "candidates": [{"content": {"parts": []}}]}),
    )
    assert heard.error is not None
    assert heard.error.kind is ErrorKind.CONNECTION


def test_geminis_thoughts_are_reasoning_and_safety_is_a_filter() -> None:
    parts = [{"text": "hm", "thought": True}, {"text": "Hello"}]
    heard = hear(gemini.events, sse({"candidates": [{"content": {"parts": parts}, "finishReason": "SAFETY"}]}))
    assert (heard.text, heard.reasoning, heard.reason) == ("Hello", "hm", FinishReason.CONTENT_FILTER)


def test_a_prompt_that_gemini_refuses_is_a_content_filter() -> None:
    heard = hear(gemini.events, sse({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}))
    assert heard.error is not None
    assert heard.error.kind is ErrorKind.CONTENT_FILTER


def test_gemini_says_how_long_to_wait_in_the_body() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
    heard = hear(gemini.events, sse({"error": {"code": 429, "message": "quota", "details": details}}))
    assert heard.error is not None
    assert (heard.error.kind, heard.error.retry_after) == (ErrorKind.RATE_LIMIT, 34.0)


def test_anthropic_is_asked_in_its_own_words() -> None:
    target = Target("anthropic", "http://x", "claude")
    body = anthropic.body_of(target, TALK, Sampling(temperature=1.7, seed=3, stop=("END",)))
    assert body["system"] == "Be brief."
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][-1]["content"][0]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw==",
    }
    assert (body["temperature"], body["max_tokens"], body["stop_sequences"]) == (1.0, anthropic.MAX_TOKENS, ["END"])
    assert "seed" not in body


def test_gemini_is_asked_in_its_own_words() -> None:
    body = gemini.body_of(Target("gemini", "http://x", "gemini"), TALK, Sampling(temperature=0.5, seed=3, max_tokens=9))
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][-1]["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    assert body["generationConfig"] == {"temperature": 0.5, "maxOutputTokens": 9, "seed": 3}
