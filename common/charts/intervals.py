"""Rows of a value with its interval: ratings, scores, agreement."""

from dataclasses import dataclass

from common.charts.axes import horizontal_axis
from common.charts.canvas import SMALL, Canvas
from common.charts.figure import PLAIN, Axis, Figure, Table, label_room
from common.charts.numbers import Scale, bounds, finite, resolution, say
from common.charts.paint import colour_of
from common.charts.text import text_width

ROW = 24.0  # units
LONG = 30  # rows, from which the axis stands above, too


@dataclass(frozen=True, kw_only=True)
class IntervalRow:
    """One row. `key` gives its colour (the model's slug), or `paint` names it; `preliminary` draws it hollow; `note`
    goes to the tooltip."""

    label: str
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    key: str | None = None
    paint: str | None = None
    preliminary: bool = False
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Intervals(Figure):
    """A dot with a whisker for each row, highest first; rows without a value stand apart below."""

    kind = "intervals"

    rows: tuple[IntervalRow, ...]
    axis: Axis = PLAIN
    sort: bool = True
    reference: float | None = None  # a dashed line: chance, the anchor
    missing: str = "no rating"
    preliminary: str = "preliminary"

    def __post_init__(self) -> None:
        for row in self.rows:
            finite((row.value, row.lower, row.upper), row.label)
        finite((self.reference,), "reference")

    @property
    def is_empty(self) -> bool:
        return not self.rows

    def _ordered(self) -> tuple[list[IntervalRow], list[IntervalRow]]:
        rated = [row for row in self.rows if row.value is not None]
        if self.sort:
            rated.sort(key=lambda row: row.value or 0.0, reverse=True)
        return rated, [row for row in self.rows if row.value is None]

    def draw(self, canvas: Canvas) -> None:
        rated, others = self._ordered()
        known = [v for row in rated for v in (row.value, row.lower, row.upper) if v is not None]
        low, high = bounds(known if self.reference is None else [*known, self.reference])
        labels = label_room((row.label for row in self.rows), canvas.width, 12, 0.38)
        step = resolution(low, high)
        figures = {id(row): say(row.value or 0.0, step=step, percent=self.axis.percent) for row in rated}
        room = max((text_width(words, 12) for words in figures.values()), default=0.0)
        left, right = labels + 12, canvas.width - room - 10
        top = 34.0 if len(rated) > LONG else 6.0
        bottom = top + ROW * len(rated)
        x = Scale(low, high, left, right)
        if rated:
            horizontal_axis(canvas, x, self.axis, top, bottom, above=len(rated) > LONG)
            if self.reference is not None:
                canvas.line(x(self.reference), top, x(self.reference), bottom, "axis", dash="3 3")
        for at, row in enumerate(rated):
            y = top + ROW * (at + 0.5)
            self._row(canvas, row, x, y, labels)
            canvas.text(canvas.width, y, figures[id(row)], anchor="end")
        canvas.height = bottom + (42 if rated else 0)
        if any(row.preliminary for row in rated):
            canvas.dot(left + 5, canvas.height + 8, "soft", hollow=True)
            canvas.text(
                left + 15, canvas.height + 8, self.preliminary, paint="soft", size=SMALL, room=canvas.width - left - 15
            )
            canvas.height += ROW
        for row in others:
            y = canvas.height + ROW / 2
            canvas.text(labels, y, row.label, anchor="end", paint="soft", room=labels)
            canvas.text(left, y, row.note or self.missing, paint="soft", size=SMALL, room=canvas.width - left)
            canvas.height += ROW

    def _row(self, canvas: Canvas, row: IntervalRow, x: Scale, y: float, labels: float) -> None:
        value = row.value or 0.0
        colour = row.paint or colour_of(row.key)
        canvas.text(labels, y, row.label, anchor="end", room=labels)
        canvas.line(labels + 6, y, x(value), y, "grid")
        lower = value if row.lower is None else row.lower
        upper = value if row.upper is None else row.upper
        if upper > lower:
            canvas.line(x(lower), y, x(upper), y, colour, width=2)
            for end in (lower, upper):
                canvas.line(x(end), y - 4, x(end), y + 4, colour, width=1.5)
        percent = self.axis.percent
        tip = f"{row.label}: {say(value, percent=percent)}"
        if row.lower is not None and row.upper is not None:
            tip += f" ({say(lower, percent=percent)} to {say(upper, percent=percent)})"
        canvas.dot(x(value), y, colour, hollow=row.preliminary, title=". ".join(filter(None, [tip, row.note])))

    def table(self) -> Table:
        rated, others = self._ordered()
        return Table(
            ("Name", str(self.axis) or "Value", "Lower", "Upper", "Note"),
            tuple(
                (row.label, row.value, row.lower, row.upper, row.note or ("preliminary" if row.preliminary else ""))
                for row in [*rated, *others]
            ),
        )
