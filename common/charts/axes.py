"""Axes with round ticks and their grid."""

from itertools import pairwise

from common.charts.canvas import SMALL, Canvas
from common.charts.figure import Axis
from common.charts.numbers import Scale, say, tick_step, ticks
from common.charts.text import text_width


def tick_words(low: float, high: float, count: int, axis: Axis) -> list[tuple[float, str]]:
    """The ticks of an axis with their words; an axis of whole numbers has no ticks between them."""
    step = tick_step(low, high, count)
    found = ticks(low, high, count)
    if axis.whole and step < 1:
        step, found = 1.0, [value for value in found if float(value).is_integer()]
    return [(value, say(value, step=step, percent=axis.percent)) for value in found]


def horizontal_axis(
    canvas: Canvas, x: Scale, axis: Axis, top: float, bottom: float, *, above: bool = False, grid: bool = True
) -> None:
    """Ticks below the plot (and above it), grid lines through it; takes 42 units below and 34 above."""
    length = x.end - x.start
    marks: list[tuple[float, str]] = []
    for count in range(max(2, min(8, int(length // 50))), 0, -1):
        marks = tick_words(x.low, x.high, count, axis)
        if all(
            x(after[0]) - x(before[0]) >= (text_width(before[1], SMALL) + text_width(after[1], SMALL)) / 2 + 8
            for before, after in pairwise(marks)
        ):
            break
    horizontal_marks(canvas, x, marks, top, bottom, above=above, grid=grid)
    if str(axis):
        middle = (x.start + x.end) / 2
        canvas.text(middle, bottom + 33, str(axis), paint="soft", size=SMALL, anchor="middle", room=canvas.width)


def horizontal_marks(
    canvas: Canvas,
    x: Scale,
    marks: list[tuple[float, str]],
    top: float,
    bottom: float,
    *,
    above: bool = False,
    grid: bool = True,
) -> None:
    for value, words in marks:
        if grid:
            canvas.line(x(value), top, x(value), bottom, "grid")
        half = text_width(words, SMALL) / 2
        at = min(max(x(value), half), canvas.width - half)
        for y in (bottom + 13, *((top - 13,) if above else ())):
            canvas.text(at, y, words, paint="soft", size=SMALL, anchor="middle")
    canvas.line(x.start, bottom, x.end, bottom, "axis")


def vertical_room(y: Scale, axis: Axis, count: int = 5) -> float:
    """How much the tick words of a vertical axis take at its left."""
    return max((text_width(words, SMALL) for _, words in tick_words(y.low, y.high, count, axis)), default=0.0) + 8


def vertical_axis(canvas: Canvas, y: Scale, axis: Axis, left: float, right: float, *, count: int = 5) -> None:
    """Ticks at the left and grid lines across; the label of the axis stands above it, upright, at the left edge."""
    for value, words in tick_words(y.low, y.high, count, axis):
        canvas.line(left, y(value), right, y(value), "grid")
        canvas.text(left - 6, y(value), words, paint="soft", size=SMALL, anchor="end")
    if str(axis):
        canvas.text(0, min(y.start, y.end) - 16, str(axis), paint="soft", size=SMALL)
