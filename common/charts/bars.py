"""Bars, single or stacked: counts, shares, costs."""

import itertools
from dataclasses import dataclass

from common.charts.axes import horizontal_axis, vertical_axis, vertical_room
from common.charts.canvas import SMALL, Canvas
from common.charts.figure import PLAIN, Axis, Figure, Table, label_room
from common.charts.key import key_of_colours
from common.charts.numbers import Scale, bounds, finite, resolution, say
from common.charts.paint import Look, colour_of
from common.charts.text import text_width

ROW = 26.0  # units a horizontal bar takes
TALL = 220.0  # units of a plot of vertical bars
TURNED = 110.0  # the longest of turned labels
LEVEL_FROM = 24  # bars above which labels stay level and some are left out
PARTS = ("c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7")


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar of one value, or of one for each part of a stack; the interval is that of the sum."""

    label: str
    values: tuple[float, ...]
    lower: float | None = None
    upper: float | None = None
    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Bars(Figure):
    """Horizontal bars with their value at the end, or vertical ones; `parts` names the layers of a stack, and `paints`
    their colours, in turn."""

    kind = "bars"

    bars: tuple[Bar, ...]
    parts: tuple[str, ...] = ()
    paints: tuple[str, ...] = PARTS
    axis: Axis = PLAIN
    vertical: bool = False

    def __post_init__(self) -> None:
        expected = max(1, len(self.parts))
        for bar in self.bars:
            finite((*bar.values, bar.lower, bar.upper), bar.label)
            finite((sum(abs(value) for value in bar.values),), bar.label)
            if len(bar.values) != expected:
                raise ValueError(f"{bar.label}: {len(bar.values)} values for {expected} parts.")

    @property
    def is_empty(self) -> bool:
        return not self.bars

    def _stack(self, bar: Bar) -> list[tuple[float, float, str, str]]:
        """(from, to, paint, name) of each layer; negative layers grow to the other side."""
        above = below = 0.0
        layers = []
        for at, value in enumerate(bar.values):
            start = above if value >= 0 else below
            above, below = (above + value, below) if value >= 0 else (above, below + value)
            alone = colour_of(bar.key)
            paint = self.paints[at % len(self.paints)] if self.parts else alone
            layers.append((start, start + value, paint, self.parts[at] if self.parts else ""))
        return layers

    def _ends(self) -> tuple[float, float]:
        reached = [edge for bar in self.bars for layer in self._stack(bar) for edge in layer[:2]]
        reached += [v for bar in self.bars for v in (bar.lower, bar.upper) if v is not None]
        return bounds(reached, zero=True)

    def draw(self, canvas: Canvas) -> None:
        looks = itertools.cycle(Look(paint, None) for paint in self.paints)
        top = key_of_colours(canvas, list(zip(looks, self.parts, strict=False)))
        if self.vertical:
            self._draw_vertical(canvas, top)
        else:
            self._draw_horizontal(canvas, top)

    def _said(self, value: float) -> str:
        step = resolution(*self._ends())
        return say(value, step=max(step, 1.0) if self.axis.whole else step, percent=self.axis.percent)

    def _tip(self, bar: Bar, name: str, value: float) -> str:
        interval = ""
        if bar.lower is not None and bar.upper is not None and not name:
            interval = f" ({self._said(bar.lower)} to {self._said(bar.upper)})"
        return f"{bar.label}{', ' + name if name else ''}: {self._said(value)}{interval}"

    def _draw_horizontal(self, canvas: Canvas, top: float) -> None:
        labels = label_room((bar.label for bar in self.bars), canvas.width, 12, 0.38)
        words = [self._said(sum(bar.values)) for bar in self.bars]
        x = Scale(*self._ends(), labels + 10, canvas.width - max(text_width(said, 12) for said in words) - 10)
        bottom = top + ROW * len(self.bars)
        horizontal_axis(canvas, x, self.axis, top, bottom)
        for at, (bar, said) in enumerate(zip(self.bars, words, strict=True)):
            y = top + ROW * (at + 0.5)
            canvas.text(labels, y, bar.label, anchor="end", room=labels)
            for start, end, paint, name in self._stack(bar):
                near, far = sorted((x(start), x(end)))
                tip = self._tip(bar, name, end - start)
                canvas.mark("rect", x=near, y=y - 8, width=far - near, height=16, fill=paint, title=tip)
            if bar.lower is not None and bar.upper is not None:
                canvas.line(x(bar.lower), y, x(bar.upper), y, "ink", width=1.5)
                for edge in (bar.lower, bar.upper):
                    canvas.line(x(edge), y - 4, x(edge), y + 4, "ink", width=1.5)
            canvas.text(canvas.width, y, said, anchor="end")
        if x.low < 0:
            canvas.line(x(0), top, x(0), bottom, "axis")
        canvas.height = bottom + (42 if str(self.axis) else 24)

    def _draw_vertical(self, canvas: Canvas, top: float) -> None:
        top += 30 if str(self.axis) else 8
        y = Scale(*self._ends(), top + TALL, top)
        left = vertical_room(y, self.axis)
        slot = (canvas.width - left) / len(self.bars)
        if slot < text_width(self.bars[0].label[:200], SMALL) and len(self.bars) <= LEVEL_FROM:
            # The first label is turned and reaches to the left of its bar.
            left = max(left, min(TURNED, text_width(self.bars[0].label[:200], SMALL)) * 0.71 - slot / 2)
            slot = (canvas.width - left) / len(self.bars)
        vertical_axis(canvas, y, self.axis, left, canvas.width)
        thick = min(48.0, slot * 0.72)
        for at, bar in enumerate(self.bars):
            x = left + slot * (at + 0.5)
            for start, end, paint, name in self._stack(bar):
                high, low = sorted((y(start), y(end)))
                tip = self._tip(bar, name, end - start)
                canvas.mark("rect", x=x - thick / 2, y=high, width=thick, height=low - high, fill=paint, title=tip)
            if bar.lower is not None and bar.upper is not None:
                canvas.line(x, y(bar.lower), x, y(bar.upper), "ink", width=1.5)
        canvas.line(left, y(0), canvas.width, y(0), "axis")
        self._below(canvas, left, slot, y.start)

    def _below(self, canvas: Canvas, left: float, slot: float, bottom: float) -> None:
        """The labels under vertical bars: level where they fit, else every n-th of many, else turned."""
        widest = max(text_width(bar.label[:200], SMALL) for bar in self.bars)
        every = 1
        turned = widest > slot - 4
        if turned and len(self.bars) > LEVEL_FROM:
            every, turned = -(-int(widest + 12) // max(1, int(slot))), False
            every = min(every, max(1, len(self.bars) // 2))
        room = min(TURNED, widest + 4)
        for at in range(0, len(self.bars), every):
            x = left + slot * (at + 0.5)
            label = self.bars[at].label
            if turned:
                canvas.text(x + 3, bottom + 10, label, size=SMALL, anchor="end", room=room, turn=-45)
            else:
                half = min(text_width(label[:200], SMALL), slot * every) / 2
                x = min(max(x, half), canvas.width - half)
                canvas.text(x, bottom + 13, label, paint="soft", size=SMALL, anchor="middle", room=slot * every)
        canvas.height = bottom + (room * 0.75 + 16 if turned else 26)

    def table(self) -> Table:
        values = self.parts or (str(self.axis) or "Value",)
        rows = tuple((bar.label, *bar.values, bar.lower, bar.upper) for bar in self.bars)
        return Table(("Name", *values, "Lower", "Upper"), rows)
