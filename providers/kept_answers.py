"""Plays an answer from the store again as if its model were writing it. Pure; what may be played to whom is decided
in `answer_store`."""

import asyncio
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from providers.adapters.base import Event, Finished, FinishReason, ReasoningDelta, TextDelta, Usage

# An answer that was slow when it was written need not be as slow again, and none may be so fast that it tells.
FIRST_TOKEN_MS = (150, 3_000)
CHARACTERS_A_SECOND = (80.0, 1_200.0)
PIECE_SECONDS = 0.05
PIECES = re.compile(r"\s*\S+\s*")


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer from the store, with how long it took when it was written."""

    text: str
    reasoning: str
    finish_reason: str
    input_tokens: int | None
    output_tokens: int | None
    first_token_ms: int | None
    latency_ms: int | None


async def replay(kept: KeptAnswer) -> AsyncGenerator[Event, None]:
    """Yield its events at about the pace of the first time, within bounds."""
    first, pace = _pace(kept)
    await asyncio.sleep(first)
    for kind, text in ((ReasoningDelta, kept.reasoning), (TextDelta, kept.text)):
        piece = ""
        for word in PIECES.findall(text) or ([text] if text else []):
            piece += word
            if len(piece) >= pace * PIECE_SECONDS:
                yield kind(piece)
                await asyncio.sleep(len(piece) / pace)
                piece = ""
        if piece:
            yield kind(piece)
    yield Finished(FinishReason(kept.finish_reason), Usage(kept.input_tokens, kept.output_tokens))


def _pace(kept: KeptAnswer) -> tuple[float, float]:
    """Seconds to the first piece, and characters a second after it."""
    first_ms = kept.first_token_ms or FIRST_TOKEN_MS[0]
    first = min(max(first_ms, FIRST_TOKEN_MS[0]), FIRST_TOKEN_MS[1]) / 1000
    writing = ((kept.latency_ms or 0) - first_ms) / 1000
    characters = len(kept.text) + len(kept.reasoning)
    pace = characters / writing if writing > 0 else CHARACTERS_A_SECOND[1]
    return first, min(max(pace, CHARACTERS_A_SECOND[0]), CHARACTERS_A_SECOND[1])
