"""Distributions as boxes on one axis, in pixels for an SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

from conversations.experiments.analysing import Summary

WIDTH, ROW, LEFT, RIGHT, TOP = 720, 34, 210, 20, 8
NAME_CHARACTERS = 28


@dataclass(frozen=True, slots=True)
class Box:
    """One group: a line from the 5th to the 95th per cent, a box between the quartiles, the median, and the mean."""

    name: str
    y: int
    low: float
    first: float
    median: float
    third: float
    high: float
    mean: float

    @property
    def box_width(self) -> float:
        return max(round(self.third - self.first, 1), 1)


@dataclass(frozen=True, slots=True)
class BoxChart:
    boxes: tuple[Box, ...]
    ticks: tuple[tuple[float, str], ...]
    height: int
    width: int = WIDTH
    left: int = LEFT


def box_chart(summaries: Sequence[Summary]) -> BoxChart | None:
    """None where there is nothing to draw."""
    if not summaries:
        return None
    most = max(max(one.high, one.mean) for one in summaries) or 1.0
    least = min(0.0, *(one.low for one in summaries))

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (value - least) / ((most - least) or 1), 1)

    boxes = tuple(
        Box(
            one.group if len(one.group) <= NAME_CHARACTERS else f"{one.group[: NAME_CHARACTERS - 1]}…",
            TOP + ROW * at + ROW // 2,
            x(one.low), x(one.first), x(one.median), x(one.third), x(one.high), x(one.mean),
        )
        for at, one in enumerate(summaries)
    )  # fmt: skip
    ticks = tuple(
        (x(least + (most - least) * part / 4), f"{least + (most - least) * part / 4:,.4g}") for part in range(5)
    )
    return BoxChart(boxes, ticks, TOP + ROW * len(summaries) + 24)
