"""How fast answers are decoded: `python -m benchmarks.adapters [--wires FOLDER]`.

Each adapter reads recorded bodies (or, where there are none, made ones of the same shape) from memory, cut as a network
would cut them, beside the vendor's own SDK, whose typed stream reads the same bytes in the same run. Chunks a
CPU-second; the bodies are repeated until each takes about a second.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
from rich.console import Console
from rich.table import Table

from providers.adapters import anthropic as our_anthropic
from providers.adapters import gemini as our_gemini
from providers.adapters import openai_chunks as our_openai
from providers.adapters.base import Event

PIECE_BYTES = 1_400  # about what one TCP segment holds
CHUNKS_AT_LEAST = 4_000
ROUNDS = 5
SEED = 1
TARGETS = {"openai": 4.0, "anthropic": 3.0}
Decoder = Callable[[AsyncIterator[bytes]], AsyncGenerator[Event, None]]
RECORDINGS = {
    "openai": ("deepseek_reasoning_content.0", "openai_chat_stream_2023.0", "vllm_crusoe_stream.0"),
    "anthropic": ("anthropic_thinking_stream.0",),
    "gemini": ("gemini_stream_usage.0",),
}


@dataclass(frozen=True, slots=True)
class Wire:
    name: str
    ours: Decoder
    body: bytes  # one answer
    chunks: int


def main() -> int:
    parser = argparse.ArgumentParser(description="How fast answers are decoded.")
    parser.add_argument("--wires", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "wires")
    folder: Path = parser.parse_args().wires
    decoders = {"openai": our_openai.events, "anthropic": our_anthropic.events, "gemini": our_gemini.events}
    table = Table("wire", "chunks", "ours, chunks/CPU-s", "SDK, chunks/CPU-s", "times as fast", "target")
    met = True
    for name, ours in decoders.items():
        for wire in wires_of(name, ours, folder):
            mine = best(wire, through_http(wire.ours))
            theirs = best(wire, SDKS[name]) if name in SDKS else None
            times = mine / theirs if theirs else None
            target = TARGETS.get(name)
            met = met and (times is None or target is None or times >= target)
            table.add_row(
                f"{name}",
                str(wire.chunks),
                f"{mine:,.0f}",
                f"{theirs:,.0f}" if theirs else "",
                f"{times:.1f}" if times else "",
                f"{target:g}" if target and theirs else "",
            )
    Console().print(table)
    return 0 if met else 1


def wires_of(name: str, ours: Decoder, folder: Path) -> list[Wire]:
    """The recordings of a wire, else one made body."""
    bodies = [path.read_bytes() for file in RECORDINGS[name] if (path := folder / f"{file}.sse").is_file()]
    return [Wire(name, ours, body, body.count(b"data:")) for body in bodies or [made(name)]]


def made(name: str) -> bytes:
    """An answer of 300 short pieces."""
    if name == "openai":
        events = [{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
            {"index": 0, "delta": {"content": f" word{i}"}, "finish_reason": None}]} for i in range(300)]  # fmt: skip
        events[-1]["choices"][0]["finish_reason"] = "stop"  # type: ignore[index]
    elif name == "anthropic":
        start: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
        start |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        events = [{"type": "message_start", "message": start}]
        events.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        delta = "content_block_delta"
        events += [{"type": delta, "index": 0, "delta": {"type": "text_delta", "text": f" w{i}"}} for i in range(300)]
        events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 300}})
        events.append({"type": "message_stop"})
    else:
        events = [{"candidates": [{"content": {"parts": [{"text": f" word{i}"}]}}]} for i in range(300)]
        events.append({"candidates": [{"finishReason": "STOP"}]})
    lines = (f"event: {event.get('type', 'x')}\ndata: {json.dumps(event)}\n\n" for event in events)
    return "".join(lines).encode()


def best(wire: Wire, decoder: Decoder) -> float:
    """Chunks a CPU-second, the best of a few rounds: others on the machine only ever make it slower."""
    rng = random.Random(SEED)
    repeats = max(1, CHUNKS_AT_LEAST // wire.chunks)
    cuts = sorted(rng.randrange(1, len(wire.body)) for _ in range(len(wire.body) // PIECE_BYTES))
    pieces = [wire.body[a:b] for a, b in zip([0, *cuts], [*cuts, len(wire.body)], strict=True) if a < b]
    return max(asyncio.run(_round(decoder, pieces, repeats, wire.chunks)) for _ in range(ROUNDS))


async def _round(decoder: Decoder, pieces: list[bytes], repeats: int, chunks: int) -> float:
    began = time.process_time()
    for _ in range(repeats):
        async for _event in decoder(_body(pieces)):
            pass
    return repeats * chunks / (time.process_time() - began)


async def _body(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


class _Stream(httpx2.AsyncByteStream):
    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body


def _response(body: AsyncIterator[bytes]) -> httpx2.Response:
    request = httpx2.Request("POST", "http://127.0.0.1/")
    return httpx2.Response(200, stream=_Stream(body), request=request, headers={"content-type": "text/event-stream"})


def through_http(decoder: Decoder) -> Decoder:
    """As the SDKs do, from a response of the same client."""
    return lambda body: decoder(_response(body).aiter_bytes())


def _typed(stream_cls: Any, cast_to: Any, client: Any) -> Decoder:
    """The vendor's own typed stream."""

    async def events(body: AsyncIterator[bytes]) -> AsyncGenerator[Any, None]:
        async for event in stream_cls(cast_to=cast_to, response=_response(body), client=client):
            yield event

    return events


SDKS: dict[str, Decoder] = {
    "openai": _typed(openai.AsyncStream, openai.types.chat.ChatCompletionChunk, openai.AsyncOpenAI(api_key="x")),
    "anthropic": _typed(
        anthropic.AsyncStream, anthropic.types.RawMessageStreamEvent, anthropic.AsyncAnthropic(api_key="x")
    ),
}

if __name__ == "__main__":
    sys.exit(main())
