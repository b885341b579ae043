"""A matrix as coloured cells: win rates between models, scores by category."""

from dataclasses import dataclass

from common.charts.canvas import SMALL, Canvas
from common.charts.figure import PLAIN, WIDE, Axis, Figure, Table, label_room
from common.charts.numbers import bounds, finite, resolution, say
from common.charts.text import text_width

STRONG = 0.7  # opacity of a cell's colour from which its words turn from dark to light (and back in the dark)
FAINTEST = 0.04
STEPS = 24  # rectangles of the key
LONGEST_LABEL = 150.0  # units


@dataclass(frozen=True, kw_only=True)
class Heatmap(Figure):
    """`cells[row][column]`, None where there is nothing to compare.

    With `centre` the colours diverge about it (0.5 for win rates); without one they grow from low to high. `low` and
    `high` fix the ends of the colours, otherwise the data do. Cells show their value where there is room.
    """

    kind = "heatmap"
    widths = (WIDE,)  # as wide as its cells need; a page lets it scroll

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]
    axis: Axis = PLAIN
    low: float | None = None
    high: float | None = None
    centre: float | None = None

    def __post_init__(self) -> None:
        if len(self.cells) != len(self.rows) or any(len(row) != len(self.columns) for row in self.cells):
            raise ValueError("A heatmap needs a cell for every row and column.")
        for label, row in zip(self.rows, self.cells, strict=True):
            finite(row, label)
        finite((self.low, self.high, self.centre), "scale")

    @property
    def is_empty(self) -> bool:
        return not self.rows or not self.columns

    def _ends(self) -> tuple[float, float]:
        known = [value for row in self.cells for value in row if value is not None]
        low, high = bounds(known, pad=0)
        low, high = low if self.low is None else self.low, high if self.high is None else self.high
        return (low, high) if low < high else bounds([low, high])

    def _shade(self, value: float, low: float, high: float) -> tuple[str, float]:
        """The paint of a value and how much of it, from 0 to 1."""
        if self.centre is None:
            paint, share = "high", (value / 2 - low / 2) / (high / 2 - low / 2)
        else:
            reach = max(high / 2 - self.centre / 2, self.centre / 2 - low / 2) or 1.0
            share = (value / 2 - self.centre / 2) / reach
            paint, share = ("high", share) if share >= 0 else ("low", -share)
        return paint, FAINTEST + (1 - FAINTEST) * min(1.0, max(0.0, share))

    def draw(self, canvas: Canvas) -> None:
        count = len(self.columns)
        wide, tall, size = (
            (46, 28, 11) if count <= 14 else (30, 22, 9) if count <= 60 and len(self.rows) <= 60 else (12, 12, 0)
        )
        low, high = self._ends()
        step = max(resolution(low, high), 10.0 ** (-2 if self.axis.percent else -12))
        left = label_room(self.rows, LONGEST_LABEL, 12, 1) + 8
        flat = all(text_width(column[:200], SMALL) <= wide - 4 for column in self.columns)
        upright = label_room(self.columns, LONGEST_LABEL, 11, 1)
        top = 22.0 if flat else upright + 8 if wide < 20 else upright * 0.71 + 16
        for at, column in enumerate(self.columns):
            x = left + (at + 0.5) * wide
            if flat:
                canvas.text(x, top - 11, column, size=SMALL, anchor="middle")
            else:
                turn = -90.0 if wide < 20 else -45.0
                canvas.text(x, top - 6, column, size=11, room=LONGEST_LABEL, turn=turn)
        for at, label in enumerate(self.rows):
            middle = top + (at + 0.5) * tall
            canvas.text(left - 8, middle, label, size=12 if tall > 12 else 10, anchor="end", room=left - 8)
            for index, value in enumerate(self.cells[at]):
                box = (left + index * wide, top + at * tall, float(wide), float(tall))
                self._cell(canvas, (at, index), value, box, size, step, (low, high))
        slant = 0.0 if flat or wide < 20 else upright * 0.71
        bottom = top + len(self.rows) * tall
        canvas.width = max(left + count * wide + slant, left + 220)
        self._key(canvas, left, bottom + 14, step)
        canvas.height = bottom + 56

    def _cell(
        self,
        canvas: Canvas,
        at: tuple[int, int],
        value: float | None,
        box: tuple[float, float, float, float],
        size: float,
        step: float,
        ends: tuple[float, float],
    ) -> None:
        x, y, wide, tall = box
        name = f"{self.rows[at[0]]} × {self.columns[at[1]]}"  # noqa: RUF001 - a multiplication sign
        if value is None:
            canvas.mark("rect", x=x + 0.5, y=y + 0.5, width=wide - 1, height=tall - 1, fill="grid", fill_opacity=0.35)
            return
        paint, opacity = self._shade(value, *ends)
        words = say(value, step=step, percent=self.axis.percent)
        canvas.mark(
            "rect",
            x=x + 0.5,
            y=y + 0.5,
            width=wide - 1,
            height=tall - 1,
            fill=paint,
            fill_opacity=opacity,
            title=f"{name}: {words}",
        )
        if size:
            short = words.removesuffix("%") if self.axis.percent else words
            if text_width(short, size) <= wide - 2:
                on = "on-strong" if opacity > STRONG else "on-pale"
                canvas.text(x + wide / 2, y + tall / 2, short, paint=on, size=size, anchor="middle")

    def _key(self, canvas: Canvas, left: float, y: float, step: float) -> None:
        """The scale of colours, with its ends and its centre."""
        low, high = self._ends()
        width = 200.0
        for at in range(STEPS):
            share = (at + 0.5) / STEPS
            paint, opacity = self._shade(low * (1 - share) + high * share, low, high)
            canvas.mark(
                "rect",
                x=left + at * width / STEPS,
                y=y,
                width=width / STEPS + 0.2,
                height=8,
                fill=paint,
                fill_opacity=opacity,
            )
        percent = self.axis.percent
        canvas.text(left, y + 17, say(low, step=step, percent=percent), size=SMALL, paint="soft")
        canvas.text(left + width, y + 17, say(high, step=step, percent=percent), size=SMALL, paint="soft", anchor="end")
        if str(self.axis):
            canvas.text(left, y + 31, str(self.axis), size=SMALL, paint="soft", room=max(width, canvas.width - left))

    def table(self) -> Table:
        return Table(
            ("", *self.columns), tuple((label, *row) for label, row in zip(self.rows, self.cells, strict=True))
        )
