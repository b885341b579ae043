"""Recordings of services on the OpenAI wire give what OpenAI's own SDK makes of them, however they are cut."""

import json
from pathlib import Path
from typing import Any

import pytest

from providers.adapters import http
from providers.adapters.base import ErrorKind, FinishReason, Usage
from providers.adapters.openai_chunks import FINISH_REASONS, events, whole_answer
from tests.providers.wires import cut, expected, hear

NAMES = [
    "azure_chat_stream_async.0",
    "deepseek_reasoning_content.0",
    "mistral_thinking_stream.0",
    "openai_chat_stream_2023.0",
    "openai_chat_stream_usage.0",
    "openai_chat_stream_usage.1",
    "openrouter_reasoning.0",
    "vllm_crusoe_stream.0",
]
CUTS = range(12)


def usage_of(said: dict[str, Any] | None) -> Usage:
    if said is None:
        return Usage()
    return Usage(
        said["prompt_tokens"],
        said["completion_tokens"],
        (said.get("completion_tokens_details") or {}).get("reasoning_tokens"),
        (said.get("prompt_tokens_details") or {}).get("cached_tokens"),
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_gives_what_the_sdk_gave(shared_data: Path, name: str) -> None:
    recording = shared_data / "wires" / f"{name}.sse"
    said = expected(recording)
    for seed in CUTS:
        heard = hear(events, cut(recording.read_bytes(), seed))
        assert heard.error is None
        assert heard.text == said["text"]
        assert heard.reason == FINISH_REASONS[said["finish_reason"]]
        assert heard.usage == usage_of(said["usage"])
        if said["reasoning"]:
            assert heard.reasoning == said["reasoning"]


def test_thoughts_in_parts_are_reasoning_which_the_sdk_does_not_know(shared_data: Path) -> None:
    recording = shared_data / "wires" / "mistral_thinking_stream.0.sse"
    heard = hear(events, cut(recording.read_bytes(), 3))
    assert heard.reasoning.startswith("Okay")
    assert len(heard.reasoning) > 200


def test_an_error_in_midstream_is_an_error_after_what_was_said(shared_data: Path) -> None:
    recording = shared_data / "wires" / "openrouter_midstream_error.0.sse"
    for seed in CUTS:
        heard = hear(events, cut(recording.read_bytes(), seed))
        assert heard.reasoning == expected(recording)["reasoning"]
        assert heard.error is not None
        assert "Token limit reached" in heard.error.detail


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("azure_chat_content_filter.0", ErrorKind.CONTENT_FILTER),
        ("groq_http_error.0", ErrorKind.BAD_REQUEST),
        ("openrouter_http_errors.0", ErrorKind.RATE_LIMIT),
    ],
)
def test_a_recorded_refusal_has_a_kind(shared_data: Path, name: str, kind: ErrorKind) -> None:
    folder = shared_data / "wires"
    meta = folder / f"{name}.json.meta.json"
    status = json.loads(meta.read_text())["status"] if meta.exists() else 400
    assert http.kind_of(status, (folder / f"{name}.json").read_text()) is kind


def test_an_answer_in_one_piece_is_an_answer() -> None:
    body = {
        "model": "m",
        "choices": [{"message": {"content": "Hello", "reasoning_content": "hm"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 2, "completion_tokens": 1},
    }
    found = list(whole_answer(json.dumps(body).encode()))
    assert [getattr(event, "text", "") for event in found] == ["hm", "Hello", ""]
    assert found[-1].reason is FinishReason.LENGTH  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("delta", "text", "reasoning"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}]}, "a", "hm"),
        (
            {"content": "a", "reasoning_details": [{"type": "reasoning.summary", "summary": "in short"}]},
            "a",
            "in short",
        ),
        ({"content": "a", "reasoning": "once", "reasoning_details": [{"text": "once"}]}, "a", "once"),
        ({"content": "\ud83d"}, "\ufffd", ""),
        ({"content": "a", "reasoning_content": ""}, "a", ""),
    ],
)
def test_every_dialect_of_a_delta_is_read(delta: dict[str, Any], text: str, reasoning: str) -> None:
    body = json.dumps({"choices": [{"delta": delta, "finish_reason": "stop"}]}).encode()
    heard = hear(events, [b"data: " + body + b"\n\ndata: [DONE]\n\n"])
    assert (heard.text, heard.reasoning, heard.reason) == (text, reasoning, FinishReason.STOP)


def test_groqs_own_place_for_the_count_is_known() -> None:
    body = {"choices": [{"delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": {"completion_tokens": 7}}}
    assert hear(events, [b"data: " + json.dumps(body).encode() + b"\n\n"]).usage.output_tokens == 7


def test_a_count_of_the_wrong_type_costs_only_the_count() -> None:
    body = {"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": {}}}
    heard = hear(events, [b"data: " + json.dumps(body).encode() + b"\n\n"])
    assert (heard.text, heard.usage) == ("a", Usage())
