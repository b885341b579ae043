"""Recorded answers of real services, cut at random places as a network would, and what the vendors' SDKs made of
them."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from providers.adapters.base import (
    Event,
    Finished,
    FinishReason,
    ProviderError,
    ReasoningDelta,
    TextDelta,
    Usage,
)

Decoder = Callable[[AsyncIterator[bytes]], AsyncGenerator[Event, None]]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a decoder made of a body."""

    text: str = ""
    reasoning: str = ""
    reason: FinishReason | None = None
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    error: ProviderError | None = None


def cut(body: bytes, seed: int) -> list[bytes]:
    """The body in pieces: one byte each for seed 0, whole for seed 1, at random places for all others."""
    if seed < 2:
        return [body] if seed else [bytes([byte]) for byte in body]
    rng = random.Random(seed)
    places = sorted(rng.sample(range(1, len(body)), min(rng.randint(1, 40), len(body) - 1)))
    return [body[start:end] for start, end in zip([0, *places], [*places, len(body)], strict=True)]


def hear(decoder: Decoder, pieces: list[bytes]) -> Heard:
    """Run a decoder over the pieces. A stream must end with one Finished or one ProviderError and nothing else."""
    return asyncio.run(_hear(decoder, pieces))


async def _hear(decoder: Decoder, pieces: list[bytes]) -> Heard:
    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    text, reasoning, ends = "", "", []
    try:
        async with asyncio.timeout(10):
            async for event in decoder(body()):
                assert not ends, "something came after the end"
                match event:
                    case TextDelta():
                        text += event.text
                    case ReasoningDelta():
                        reasoning += event.text
                    case Finished():
                        ends.append(event)
    except ProviderError as error:
        return Heard(text, reasoning, error=error)
    assert len(ends) == 1, "a stream has one end"
    return Heard(text, reasoning, ends[0].reason, ends[0].usage, ends[0].upstream_model)


def recordings(folder: Path, prefix: str) -> list[Path]:
    return sorted(folder.glob(f"{prefix}*.sse"))


def expected(recording: Path) -> dict[str, Any]:
    """What the vendor's SDK made of a recording."""
    found: dict[str, Any] = json.loads((recording.parent / "expected" / f"{recording.name}.expected.json").read_text())
    return found
