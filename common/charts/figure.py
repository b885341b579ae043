"""What every chart is: frozen data with a title, a sentence for those who cannot see it, and the table behind it."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from common.charts.canvas import Canvas, Target, coordinate
from common.charts.text import escaped, text_width

WIDE = 720  # units; beside a text column or in a page on a desk
NARROW = 340  # units; a phone
MARGIN = 24  # around the drawing in a file
FONTS = "Roboto, Arial, Helvetica, sans-serif"

Cell = str | float | int | datetime | None


@dataclass(frozen=True)
class Axis:
    """What an axis measures. `percent` shows 0.43 as 43%."""

    label: str = ""
    unit: str = ""
    percent: bool = False

    def __str__(self) -> str:
        return f"{self.label} ({self.unit})" if self.label and self.unit else self.label or self.unit


PLAIN = Axis()


@dataclass(frozen=True)
class Table:
    """The data behind a chart, unrounded: names of columns, and rows as long as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Figure(ABC):
    """The base of all kinds.

    A kind refuses NaN and infinite values with ValueError when it is made, and draws a sentence where it has no data.
    """

    title: str
    description: str = ""  # what a sighted reader sees at a glance, for a screen reader
    nothing: str = "There is nothing to show here yet."

    kind: ClassVar[str]
    # Drawn once for each width; a page shows the one that fits. A kind of one width scrolls sideways.
    widths: ClassVar[tuple[int, ...]] = (NARROW, WIDE)

    @property
    @abstractmethod
    def is_empty(self) -> bool: ...

    @abstractmethod
    def draw(self, canvas: Canvas) -> None:
        """Draw on the canvas, which is `canvas.width` units wide, and set its height. Not called when empty."""

    @abstractmethod
    def table(self) -> Table: ...


def _drawn(figure: Figure, width: float, target: Target) -> Canvas:
    canvas = Canvas(width, target)
    if figure.is_empty:
        canvas.height = 96
        canvas.text(width / 2, 48, figure.nothing, paint="soft", anchor="middle", room=width - 16)
    else:
        figure.draw(canvas)
    return canvas


def _head(figure: Figure, width: float) -> tuple[str, str]:
    """The attributes that name the drawing, and its title and description."""
    seed = f"{figure.kind}\0{figure.title}\0{figure.description}\0{width}"
    name = "chart-" + hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    description = figure.description or (figure.nothing if figure.is_empty else "The table holds all figures.")
    return (
        f' role="img" aria-labelledby="{name}-t {name}-d"',
        f'<title id="{name}-t">{escaped(figure.title)}</title><desc id="{name}-d">{escaped(description)}</desc>',
    )


def svg_inline(figure: Figure, width: float = WIDE) -> str:
    """The figure for a page that loads charts.css: colours are classes, the fonts are the page's."""
    canvas = _drawn(figure, width, Target.PAGE)
    named, head = _head(figure, width)
    return (
        f'<svg viewBox="0 0 {coordinate(canvas.width)} {coordinate(canvas.height)}" width="{coordinate(canvas.width)}"'
        f' height="{coordinate(canvas.height)}"{named}>{head}{"".join(canvas.parts)}</svg>'
    )


def svg_file(figure: Figure, width: float = WIDE) -> str:
    """The figure as a document of its own, with its title, on white."""
    canvas = _drawn(figure, width, Target.FILE)
    named, head = _head(figure, width)
    heading = Canvas(canvas.width, Target.FILE)
    heading.text(0, 10, figure.title, size=17, room=canvas.width)
    full, tall = canvas.width + 2 * MARGIN, canvas.height + 2 * MARGIN + 32
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {coordinate(full)} {coordinate(tall)}"'
        f' width="{coordinate(full)}" height="{coordinate(tall)}" font-family="{FONTS}"{named}>{head}'
        f'<rect width="{coordinate(full)}" height="{coordinate(tall)}" fill="#ffffff"></rect>'
        f'<g transform="translate({MARGIN} {MARGIN})">{"".join(heading.parts)}</g>'
        f'<g transform="translate({MARGIN} {MARGIN + 32})">{"".join(canvas.parts)}</g></svg>\n'
    )


def label_room(labels: Iterable[str], width: float, size: float, share: float) -> float:
    """How wide a column of labels is: as the widest needs, at most `share` of the drawing."""
    return min(width * share, max((text_width(label[:200], size) for label in labels), default=0.0) + 2)
