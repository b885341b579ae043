"""Two measures against each other: rating and cost, human and judge."""

import math
from dataclasses import dataclass

from common.charts.axes import horizontal_axis, horizontal_marks, vertical_axis, vertical_room
from common.charts.canvas import SMALL, Canvas
from common.charts.figure import PLAIN, Axis, Figure, Table
from common.charts.numbers import Scale, bounds, finite, say
from common.charts.paint import colour_of
from common.charts.text import fitted, text_width

Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A point with intervals on either axis where there are some; `key` gives its colour."""

    label: str
    x: float
    y: float
    x_lower: float | None = None
    x_upper: float | None = None
    y_lower: float | None = None
    y_upper: float | None = None
    key: str | None = None
    preliminary: bool = False


@dataclass(frozen=True, kw_only=True)
class Scatter(Figure):
    """Named points; names stand beside them wherever they find room, the others are in the tooltips and the table.

    `log_x` draws powers of ten at equal distances and refuses values of x that are not above zero.
    """

    kind = "scatter"

    spots: tuple[Spot, ...]
    x_axis: Axis = PLAIN
    y_axis: Axis = PLAIN
    log_x: bool = False
    diagonal: bool = False  # the line of equal values

    def __post_init__(self) -> None:
        for spot in self.spots:
            values = (spot.x, spot.x_lower, spot.x_upper)
            finite((*values, spot.y, spot.y_lower, spot.y_upper), spot.label)
            if self.log_x and any(value is not None and value <= 0 for value in values):
                raise ValueError(f"{spot.label}: a logarithmic axis holds only values above zero.")

    @property
    def is_empty(self) -> bool:
        return not self.spots

    def _along(self, value: float) -> float:
        return math.log10(value) if self.log_x else value

    def draw(self, canvas: Canvas) -> None:
        top = 30.0 if str(self.y_axis) else 10.0
        height = max(0.5 * canvas.width, 240.0)
        ys = [v for s in self.spots for v in (s.y, s.y_lower, s.y_upper) if v is not None]
        xs = [self._along(v) for s in self.spots for v in (s.x, s.x_lower, s.x_upper) if v is not None]
        y = Scale(*bounds(ys, pad=0.06), top + height, top)
        left = vertical_room(y, self.y_axis)
        x = Scale(*bounds(xs, pad=0.06), left, canvas.width - 8)
        vertical_axis(canvas, y, self.y_axis, left, x.end)
        if self.log_x:
            self._log_axis(canvas, x, top, y.start)
        else:
            horizontal_axis(canvas, x, self.x_axis, top, y.start)
        if self.diagonal and not self.log_x:
            low, high = max(x.low, y.low), min(x.high, y.high)
            if low < high:
                canvas.line(x(low), y(low), x(high), y(high), "axis", dash="3 3")
        for spot in self.spots:
            self._spot(canvas, spot, x, y)
        self._names(canvas, x, y)
        canvas.height = y.start + (42 if str(self.x_axis) else 24)

    def _log_axis(self, canvas: Canvas, x: Scale, top: float, bottom: float) -> None:
        low, high = max(x.low, -307.0), min(x.high, 308.0)  # the powers of ten that a float can hold
        first, last = math.ceil(low), math.floor(high)
        every = max(1, math.ceil((last - first + 1) / 6))
        powers = range(first, last + 1, every)
        marks = [(float(power), say(10.0**power, percent=self.x_axis.percent)) for power in powers]
        if len(marks) < 2:
            marks = [(end, say(10.0**end, percent=self.x_axis.percent)) for end in (low, high)]
        horizontal_marks(canvas, x, marks, top, bottom)
        if str(self.x_axis):
            middle = (x.start + x.end) / 2
            canvas.text(middle, bottom + 33, str(self.x_axis), paint="soft", size=SMALL, anchor="middle")

    def _spot(self, canvas: Canvas, spot: Spot, x: Scale, y: Scale) -> None:
        colour = colour_of(spot.key)
        across, up = x(self._along(spot.x)), y(spot.y)
        if spot.x_lower is not None and spot.x_upper is not None:
            canvas.line(x(self._along(spot.x_lower)), up, x(self._along(spot.x_upper)), up, colour)
        if spot.y_lower is not None and spot.y_upper is not None:
            canvas.line(across, y(spot.y_lower), across, y(spot.y_upper), colour)
        said = [say(spot.x, percent=self.x_axis.percent), say(spot.y, percent=self.y_axis.percent)]
        canvas.dot(across, up, colour, hollow=spot.preliminary, title=f"{spot.label}: {said[0]}, {said[1]}")

    def _names(self, canvas: Canvas, x: Scale, y: Scale) -> None:
        """The first place of right, left, above, below where a name covers no dot and no other name."""
        places = [(x(self._along(spot.x)), y(spot.y)) for spot in self.spots]
        taken: list[Box] = [(across - 5, up - 5, across + 5, up + 5) for across, up in places]
        for spot, (across, up) in zip(self.spots, places, strict=True):
            words = fitted(spot.label, canvas.width * 0.3, SMALL)
            wide = text_width(words, SMALL)
            beside = [(across + 8, up), (across - 8 - wide, up)]
            over = [(across - wide / 2, up - 13), (across - wide / 2, up + 13)]
            # A name is not to be struck through by its own interval.
            for left, middle in [*over, *beside] if spot.x_lower is not None else [*beside, *over]:
                box = (left, middle - 6, left + wide, middle + 6)
                if left < x.start or box[2] > canvas.width or box[1] < y.end or box[3] > y.start:
                    continue
                if not any(_overlap(box, other) for other in taken):
                    taken.append(box)
                    canvas.text(left, middle, spot.label, size=SMALL, room=canvas.width * 0.3)
                    break

    def table(self) -> Table:
        across, up = str(self.x_axis) or "x", str(self.y_axis) or "y"
        columns = ("Name", across, f"{across}, lower", f"{across}, upper", up, f"{up}, lower", f"{up}, upper")
        rows = ((s.label, s.x, s.x_lower, s.x_upper, s.y, s.y_lower, s.y_upper) for s in self.spots)
        return Table(columns, tuple(rows))


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
