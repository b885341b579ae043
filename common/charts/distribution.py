"""How values are spread: counts in bins, and quantiles a row."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from common.charts.axes import horizontal_axis, vertical_axis, vertical_room
from common.charts.canvas import Canvas
from common.charts.figure import PLAIN, Axis, Figure, Table, label_room
from common.charts.numbers import LARGEST, Scale, bounds, finite, say, tick_step
from common.charts.paint import colour_of

TALL = 200.0  # units of the plot of a histogram
ROW = 28.0
MOST_BINS = 60


@dataclass(frozen=True)
class Bin:
    """Values from `low` (within) to `high` (without, but in the last bin)."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, kw_only=True)
class Histogram(Figure):
    """Counts in bins that touch."""

    kind = "histogram"

    bins: tuple[Bin, ...]
    x_axis: Axis = PLAIN
    y_axis: Axis = Axis("Count")  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        for each in self.bins:
            finite((each.low, each.high, float(each.count)), "bin")

    @property
    def is_empty(self) -> bool:
        return not any(each.count for each in self.bins)

    def draw(self, canvas: Canvas) -> None:
        top = 30.0 if str(self.y_axis) else 10.0
        y = Scale(*bounds([float(each.count) for each in self.bins], zero=True), top + TALL, top)
        left = vertical_room(y, self.y_axis, 4)
        low, high = bounds([edge for each in self.bins for edge in (each.low, each.high)], pad=0)
        x = Scale(low, high, left, canvas.width - 8)
        vertical_axis(canvas, y, self.y_axis, left, canvas.width - 8, count=4)
        for each in self.bins:
            start, end = x(each.low), x(each.high)
            tip = f"{say(each.low)} to {say(each.high)}: {each.count:,}"
            canvas.mark(
                "rect",
                x=start + 0.5,
                y=y(each.count),
                width=max(0.5, end - start - 1),
                height=y.start - y(each.count),
                fill="accent",
                title=tip,
            )
        horizontal_axis(canvas, x, self.x_axis, top, y.start, grid=False)
        canvas.height = y.start + (42 if str(self.x_axis) else 24)

    def table(self) -> Table:
        name = str(self.x_axis) or "Value"
        rows = tuple((each.low, each.high, each.count) for each in self.bins)
        return Table((f"{name} from", f"{name} to", str(self.y_axis) or "Count"), rows)


def binned(values: Iterable[float], count: int | None = None) -> tuple[Bin, ...]:
    """Round bins over the values: about `count`, or the square root of how many there are (5 to 60).

    Raises ValueError for NaN and infinite values.
    """
    known = sorted(values)
    finite(known, "values")
    if not known:
        return ()
    wanted = min(MOST_BINS, max(5, math.isqrt(len(known)) if count is None else count))
    low, high = (known[0], known[-1]) if known[0] < known[-1] else bounds(known[:1])
    if high / 2 - low / 2 <= max(abs(low), abs(high)) * 1e-12 or high - low < 1e-290:
        low, high = bounds([low, high])
    step = tick_step(low, high, wanted)
    first = math.floor(low / step)
    last = max(first, math.ceil(high / step) - 1)
    counts = [0] * (last - first + 1)
    for value in known:
        counts[min(last, max(first, math.floor(value / step))) - first] += 1
    edges = [min(LARGEST, max(-LARGEST, (first + at) * step)) for at in range(len(counts) + 1)]
    return tuple(Bin(edges[at], edges[at + 1], found) for at, found in enumerate(counts))


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Quantiles of one row: a line from low to high (5% and 95%, say), a box of the quartiles, the median."""

    label: str
    low: float
    lower: float
    median: float
    upper: float
    high: float
    count: int = 0
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Spreads(Figure):
    """A strip of quantiles for each row: latencies, lengths, scores."""

    kind = "spreads"

    rows: tuple[Spread, ...]
    axis: Axis = PLAIN

    def __post_init__(self) -> None:
        for row in self.rows:
            finite((row.low, row.lower, row.median, row.upper, row.high), row.label)
            if not row.low <= row.lower <= row.median <= row.upper <= row.high:
                raise ValueError(f"{row.label}: the quantiles are not in order.")

    @property
    def is_empty(self) -> bool:
        return not self.rows

    def draw(self, canvas: Canvas) -> None:
        labels = label_room((row.label for row in self.rows), canvas.width, 12, 0.38)
        low, high = bounds([v for row in self.rows for v in (row.low, row.high)])
        x = Scale(low, high, labels + 12, canvas.width - 8)
        bottom = 6 + ROW * len(self.rows)
        horizontal_axis(canvas, x, self.axis, 6, bottom)
        for at, row in enumerate(self.rows):
            y = 6 + ROW * (at + 0.5)
            colour = colour_of(row.key)
            canvas.text(labels, y, row.label, anchor="end", room=labels)
            canvas.line(x(row.low), y, x(row.high), y, colour, width=1.5)
            said = [say(v, percent=self.axis.percent) for v in (row.median, row.lower, row.upper)]
            tip = f"{row.label}: median {said[0]}, middle half {said[1]} to {said[2]}"
            tip += f", {row.count:,} values" if row.count else ""
            wide = max(1.0, x(row.upper) - x(row.lower))
            canvas.mark(
                "rect", x=x(row.lower), y=y - 7, width=wide, height=14, rx=2, fill="ground", stroke=colour, title=tip
            )
            canvas.mark(
                "rect", x=x(row.lower), y=y - 7, width=wide, height=14, rx=2, fill=colour, fill_opacity=0.2, title=tip
            )
            canvas.line(x(row.median), y - 7, x(row.median), y + 7, colour, width=2.5)
        canvas.height = bottom + (42 if str(self.axis) else 24)

    def table(self) -> Table:
        rows = tuple((r.label, r.low, r.lower, r.median, r.upper, r.high, r.count) for r in self.rows)
        return Table(("Name", "Low", "Lower quartile", "Median", "Upper quartile", "High", "Count"), rows)
