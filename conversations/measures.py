"""What can be counted in a conversation without a model. Pure: lines in, figures out."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from conversations.stopping import shingles

# The share of different words falls with the length of a text, so it is taken over windows of this many words.
# Source: Covington and McFall 2010, moving-average type-token ratio, doi:10.1080/09296171003643098
WINDOW_WORDS = 50
SENTENCE_END = re.compile(r"[.!?…。！？]+(?=\s|$)|\n")  # noqa: RUF001 full-width marks end sentences, too
QUESTION = re.compile(r"[?？]")  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Line:
    """One turn that was said; `latency_ms` and `tokens` are None where they are not known."""

    speaker: str
    text: str
    latency_ms: int | None = None
    tokens: int | None = None
    is_refusal: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one agent; None where there was nothing to count. Shares are from 0 to 1, trends are a turn."""

    turns: int = 0
    words: float | None = None
    words_trend: float | None = None
    tokens: float | None = None
    latency_ms: float | None = None
    latency_trend: float | None = None
    diversity: float | None = None
    self_repetition: float | None = None
    cross_repetition: float | None = None
    questions: float | None = None
    refusals: int = 0


@dataclass(frozen=True, slots=True)
class Measures:
    """Of both agents by side, and how alike each turn is to the one before it (the first turn has none)."""

    agents: dict[str, Figures] = field(default_factory=dict)
    words: tuple[int, ...] = ()
    similarity: tuple[float, ...] = ()


def measure(lines: Sequence[Line]) -> Measures:
    """The figures of a conversation whose turns are `lines`, in order."""
    said = [words(line.text) for line in lines]
    return Measures(
        agents={side: _figures(lines, said, side) for side in ("a", "b")},
        words=tuple(len(one) for one in said),
        similarity=tuple(cosine(one, other) for one, other in pairwise(said)),
    )


def words(text: str) -> list[str]:
    return re.findall(r"\w+(?:['\u2019]\w+)?", text.casefold())


def _figures(lines: Sequence[Line], said: Sequence[list[str]], side: str) -> Figures:
    own = [(line, one) for line, one in zip(lines, said, strict=True) if line.speaker == side]
    latencies = [float(line.latency_ms) for line, _ in own if line.latency_ms is not None]
    return Figures(
        turns=len(own),
        words=_mean([len(one) for _, one in own]),
        words_trend=slope([len(one) for _, one in own]),
        tokens=_mean([line.tokens for line, _ in own if line.tokens is not None]),
        latency_ms=_mean(latencies),
        latency_trend=slope(latencies),
        diversity=diversity([word for _, one in own for word in one]),
        self_repetition=repetition(lines, side, of_self=True),
        cross_repetition=repetition(lines, side, of_self=False),
        questions=questions([line.text for line, _ in own]),
        refusals=sum(line.is_refusal for line, _ in own),
    )


def diversity(said: Sequence[str], window: int = WINDOW_WORDS) -> float | None:
    """The moving-average type-token ratio: of `window` words in a row, how many are different, on average."""
    if not said:
        return None
    if len(said) <= window:
        return len(set(said)) / len(said)
    counts = Counter(said[:window])
    ratios = [len(counts)]
    for leaves, comes in zip(said, said[window:], strict=False):
        counts[leaves] -= 1
        if not counts[leaves]:
            del counts[leaves]
        counts[comes] += 1
        ratios.append(len(counts))
    return fmean(ratios) / window


def repetition(lines: Sequence[Line], side: str, *, of_self: bool) -> float | None:
    """Of the runs of three words of this agent's turns, the share that it, or the other, had said before."""
    before: dict[str, set[tuple[str, ...]]] = {"a": set(), "b": set()}
    repeated = total = 0
    for line in lines:
        runs = shingles(line.text)
        earlier = {one for speaker, runs_ in before.items() if (speaker == side) == of_self for one in runs_}
        if line.speaker == side and earlier:
            repeated += len(runs & earlier)
            total += len(runs)
        before.setdefault(line.speaker, set()).update(runs)
    return repeated / total if total else None


def questions(texts: Sequence[str]) -> float | None:
    """The share of sentences that ask."""
    sentences = asking = 0
    for text in texts:
        start = 0
        for end in SENTENCE_END.finditer(f"{text}\n"):
            if text[start : end.start()].strip():
                sentences += 1
                asking += bool(QUESTION.search(end[0]))
            start = end.end()
    return asking / sentences if sentences else None


def cosine(one: Sequence[str], other: Sequence[str]) -> float:
    """How alike two lists of words are, by how often each occurs; 0 where one is empty."""
    left, right = Counter(one), Counter(other)
    norm = math.sqrt(sum(n * n for n in left.values()) * sum(n * n for n in right.values()))
    return min(1.0, sum(n * right[word] for word, n in left.items()) / norm) if norm else 0.0


def slope(values: Sequence[float]) -> float | None:
    """By how much a value grows from one to the next, by least squares; None below three values."""
    if len(values) < 3:
        return None
    middle, mean = (len(values) - 1) / 2, fmean(values)
    spread = sum((at - middle) ** 2 for at in range(len(values)))
    return sum((at - middle) * (value - mean) for at, value in enumerate(values)) / spread


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
