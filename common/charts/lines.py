"""Series over time or over a number: histories of ratings, votes a day, learning curves."""

import itertools
from dataclasses import dataclass
from datetime import datetime

from common.charts.axes import horizontal_marks, tick_words, vertical_axis, vertical_room
from common.charts.canvas import SMALL, Canvas
from common.charts.dates import date_ticks, seconds, utc
from common.charts.figure import PLAIN, WIDE, Axis, Figure, Table, label_room
from common.charts.numbers import Scale, bounds, finite, resolution, say
from common.charts.paint import Look, colour_of, looks_of

LABEL_GAP = 14.0  # units between end labels


@dataclass(frozen=True)
class Point:
    """A value at a moment or a number, with its interval where there is one."""

    x: float | datetime
    y: float
    lower: float | None = None
    upper: float | None = None

    @property
    def at(self) -> float:
        return seconds(self.x) if isinstance(self.x, datetime) else float(self.x)


@dataclass(frozen=True)
class Series:
    """Points of one thing; `key` gives its colour, which is the accent without one."""

    label: str
    points: tuple[Point, ...]
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Lines(Figure):
    """Lines with their names at their ends and, where points have intervals, a band."""

    kind = "lines"

    series: tuple[Series, ...]
    x_axis: Axis = PLAIN
    y_axis: Axis = PLAIN
    from_zero: bool = False
    steps: bool = False  # hold a value until the next point, for what changes at moments

    def __post_init__(self) -> None:
        for series in self.series:
            for point in series.points:
                finite((point.at, point.y, point.lower, point.upper), series.label)
        if len({isinstance(point.x, datetime) for point in self._points()}) > 1:
            raise ValueError("An axis holds either moments or numbers, not both.")

    def _points(self) -> list[Point]:
        return [point for series in self.series for point in series.points]

    @property
    def is_empty(self) -> bool:
        return not self._points()

    def draw(self, canvas: Canvas) -> None:
        drawn = [series for series in self.series if series.points]
        points = self._points()
        values = [v for point in points for v in (point.y, point.lower, point.upper) if v is not None]
        height = max(0.42 * canvas.width, 190.0, LABEL_GAP * len(drawn))
        top = 30.0 if str(self.y_axis) else 10.0
        y = Scale(*bounds(values, zero=self.from_zero), top + height, top)
        left = vertical_room(y, self.y_axis)
        # A single unnamed line needs no label at its end.
        names = [] if len(drawn) == 1 and drawn[0].key is None else [series.label for series in drawn]
        right = canvas.width - (label_room(names, canvas.width, 12, 0.3) + 16 if names else 8)
        low, high = bounds([point.at for point in points], pad=0)
        x = Scale(low, high, left, right)
        vertical_axis(canvas, y, self.y_axis, left, right)
        self._x_marks(canvas, x, y.start, isinstance(points[0].x, datetime))
        for series, look in zip(drawn, looks_of(series.key for series in drawn), strict=True):
            self._series(canvas, series, look, x, y)
        if names:
            self._labels(canvas, drawn, x, y)
        canvas.height = y.start + (42 if str(self.x_axis) else 24)

    def _x_marks(self, canvas: Canvas, x: Scale, bottom: float, dated: bool) -> None:
        count = max(3, int((x.end - x.start) // (56 if canvas.width < WIDE else 80)))
        marks = date_ticks(x.low, x.high, count) if dated else tick_words(x.low, x.high, count, self.x_axis)
        horizontal_marks(canvas, x, marks, x.start, bottom, grid=False)
        for value, _ in marks:
            canvas.line(x(value), bottom, x(value), bottom + 4, "axis")
        if str(self.x_axis):
            middle = (x.start + x.end) / 2
            canvas.text(middle, bottom + 33, str(self.x_axis), paint="soft", size=SMALL, anchor="middle")

    def _series(self, canvas: Canvas, series: Series, look: Look, x: Scale, y: Scale) -> None:
        points = sorted(series.points, key=lambda point: point.at)
        band = [point for point in points if point.lower is not None and point.upper is not None]
        if len(band) > 1:
            above = [(x(point.at), y(point.upper or 0.0)) for point in band]
            below = [(x(point.at), y(point.lower or 0.0)) for point in reversed(band)]
            canvas.polygon(above + below, look.paint, opacity=0.12)
        places = [(x(point.at), y(point.y)) for point in points]
        if self.steps:
            corners = [(after[0], before[1]) for before, after in itertools.pairwise(places)]
            places = [place for pair in zip(places, [*corners, places[-1]], strict=True) for place in pair]
        if len(points) > 1:
            canvas.polyline(places, look.paint, dash=look.dash)
        step = resolution(y.low, y.high)
        # Every point can be read where there are few; of many, only the last has its dot.
        for point in points if len(points) <= 40 else points[-1:]:
            moment = f"{utc(point.x):%Y-%m-%d %H:%M}" if isinstance(point.x, datetime) else say(point.x)
            tip = f"{series.label}, {moment}: {say(point.y, step=step, percent=self.y_axis.percent)}"
            canvas.dot(x(point.at), y(point.y), look.paint, radius=2.75 if len(points) > 1 else 4, title=tip)

    def _labels(self, canvas: Canvas, drawn: list[Series], x: Scale, y: Scale) -> None:
        """Names at the line's ends, pushed apart where they would overlap."""
        ends = [(max(series.points, key=lambda point: point.at), series) for series in drawn]
        ends.sort(key=lambda end: y(end[0].y))
        places = spread([y(point.y) for point, _ in ends], LABEL_GAP, y.end, y.start)
        for (point, series), place in zip(ends, places, strict=True):
            canvas.line(x(point.at) + 4, y(point.y), x.end + 10, place, "grid")
            canvas.text(x.end + 14, place, series.label, paint=colour_of(series.key), room=canvas.width - x.end - 14)

    def table(self) -> Table:
        rows = (
            (
                series.label,
                utc(point.x) if isinstance(point.x, datetime) else point.x,
                point.y,
                point.lower,
                point.upper,
            )
            for series in self.series
            for point in sorted(series.points, key=lambda point: point.at)
        )
        dated = any(isinstance(point.x, datetime) for point in self._points())
        x_name = str(self.x_axis) or ("Time (UTC)" if dated else "x")
        return Table(("Name", x_name, str(self.y_axis) or "Value", "Lower", "Upper"), tuple(rows))


def spread(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Sorted places at least `gap` apart, moved as little as that needs and kept within [low, high] where they fit."""
    gap = min(gap, (high - low) / max(1, len(places) - 1))
    groups: list[tuple[float, int]] = []  # (middle, members)
    for place in places:
        middle, members = place, 1
        while groups and groups[-1][0] + (groups[-1][1] + members) / 2 * gap > middle:
            before, count = groups.pop()
            middle = (before * count + middle * members) / (count + members)
            members += count
        half = (members - 1) / 2 * gap
        groups.append((min(max(middle, low + half), high - half), members))
    found = [middle + (at - (members - 1) / 2) * gap for middle, members in groups for at in range(members)]
    for at in range(len(found) - 2, -1, -1):
        found[at] = min(found[at], found[at + 1] - gap)
    for at in range(1, len(found)):
        found[at] = max(found[at], found[at - 1] + gap)
    return found
