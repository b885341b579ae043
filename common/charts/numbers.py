"""Numbers on an axis: round ticks, positions that never overflow, and figures as people read them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

LARGEST = 1.7e308  # a little under the largest float, so that padding cannot reach infinity
MINUS = "\u2212"  # as wide as a figure
COMPACT = ((1e12, "T"), (1e9, "B"), (1e6, "M"))


def finite(values: Iterable[float | None], what: str) -> None:
    """Raise ValueError where a value is NaN or infinite; None stands for a missing value."""
    for value in values:
        if value is not None and not math.isfinite(value):
            raise ValueError(f"{what}: {value} cannot be drawn; leave missing values out or give None.")


@dataclass(frozen=True)
class Scale:
    """Maps [low, high] of the data to [start, end] of the drawing; what lies outside is held at the edge."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        # Halves, because the difference of two large numbers may overflow.
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def bounds(values: Iterable[float], *, pad: float = 0.04, zero: bool = False) -> tuple[float, float]:
    """The lowest and highest value with a margin; a span of nothing is widened so that low < high always holds."""
    known = list(values)
    if zero:
        known.append(0.0)
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    size = max(abs(low), abs(high))
    if high / 2 - low / 2 <= size * 1e-12 or size < 1e-290:
        widening = size * 0.1 if size >= 1e-290 else 1.0
        low, high = low - widening, high + widening
    margin = (high / 2 - low / 2) * 2 * pad if high < LARGEST / 2 and low > -LARGEST / 2 else 0.0
    below, above = low - margin, high + margin
    if zero:
        below = 0.0 if min(known) >= 0 else below
        above = 0.0 if max(known) <= 0 else above
        if below == above:
            above = 1.0
    return max(-LARGEST, below), min(LARGEST, above)


def tick_step(low: float, high: float, count: int) -> float:
    """The round step (1, 2, 2.5 or 5 times a power of ten) that gives about `count` ticks."""
    raw = (high / 2 - low / 2) / max(1, count) * 2
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1, 2, 2.5, 5):
        if raw <= power * factor * 1.0001:
            return power * factor
    return min(LARGEST, power * 10)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers within [low, high], at most about `count` + 1 of them."""
    step = tick_step(low, high, count)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [min(high, max(low, at * step)) + 0.0 for at in range(first, last + 1)]


def decimals_of(step: float) -> int:
    """How many decimals tell numbers apart that lie `step` from each other."""
    if not step or not math.isfinite(step):
        return 0
    return next((d for d in range(8) if abs(round(step, d) - step) < abs(step) * 1e-6), 8)


def say(value: float, *, step: float | None = None, percent: bool = False) -> str:
    """A number as people read it: `1,234`, `0.25`, `12.5M`, `43%`; decimals by `step`, else three figures."""
    if percent:
        return say(value * 100, step=None if step is None else step * 100).removesuffix(".0") + "%"
    size = abs(value)
    sign = MINUS if value < 0 else ""
    if size >= 1e15 or 0 < size < 1e-6:
        return sign + f"{size:.3g}"
    if step is None:
        places = 0 if size >= 1000 or float(size).is_integer() else max(0, 2 - math.floor(math.log10(size or 1)))
        words = f"{size:,.{min(places, 8)}f}"
        words = words.rstrip("0").rstrip(".") if "." in words else words
        return sign + words if words.strip("0.,") else "0"
    if step >= 1e5:
        unit, letter = next(((unit, letter) for unit, letter in COMPACT if size >= unit), (1.0, ""))
        if letter:
            return sign + f"{size / unit:,.{decimals_of(step / unit)}f}{letter}"
    words = f"{size:,.{decimals_of(step)}f}"
    return sign + words if words.strip("0.,") else words


def resolution(low: float, high: float) -> float:
    """The power of ten to which a value is told beside an axis from low to high: finer than its ticks."""
    return float(10.0 ** math.floor(math.log10(tick_step(low, high, 5) / 4)))
