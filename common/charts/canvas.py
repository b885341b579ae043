"""Where a chart is drawn: SVG elements in, one string out.

In a page a colour is a class; in a file it is a code. Nothing here writes `style` or a script, so that the content
policy of the pages holds, and every text passes through `common.charts.text`.
"""

from enum import Enum

from common.charts import paint as paints
from common.charts.text import LONGEST_TITLE, escaped, fitted

SIZE = 12.0  # of text, in units of the drawing
SMALL = 10.5
MIDDLE = 0.36  # from the middle of a line of text down to its baseline, in ems


class Target(Enum):
    PAGE = "page"
    FILE = "file"


def coordinate(value: float) -> str:
    """A length with at most two decimals."""
    words = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if words in ("-0", "") else words


class Canvas:
    """A drawing `width` units wide; whoever draws sets `height`."""

    def __init__(self, width: float, target: Target) -> None:
        self.width = width
        self.height = 0.0
        self.target = target
        self.parts: list[str] = []

    def _paint(self, fill: str | None, stroke: str | None) -> str:
        if self.target is Target.FILE:
            return f' fill="{paints.light(fill) if fill else "none"}"' + (
                f' stroke="{paints.light(stroke)}"' if stroke else ""
            )
        classes = [f"fill-{fill}" if fill else "", f"stroke-{stroke}" if stroke else ""]
        return f' class="{" ".join(filter(None, classes))}"' + ("" if fill else ' fill="none"')

    def mark(
        self,
        tag: str,
        *,
        fill: str | None = None,
        stroke: str | None = None,
        title: str = "",
        **attributes: float | str | None,
    ) -> None:
        """Add an element painted by names of `PAINTS`; an underscore in an attribute's name is written as a hyphen."""
        written = "".join(
            f' {name.replace("_", "-")}="{coordinate(value) if isinstance(value, int | float) else escaped(value)}"'
            for name, value in attributes.items()
            if value is not None
        )
        inside = f"<title>{escaped(title[:LONGEST_TITLE])}</title>" if title else ""
        self.parts.append(f"<{tag}{self._paint(fill, stroke)}{written}>{inside}</{tag}>")

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str, *, width: float = 1, dash: str | None = None
    ) -> None:
        self.mark("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=width, stroke_dasharray=dash)

    def dot(self, x: float, y: float, colour: str, *, radius: float = 4, hollow: bool = False, title: str = "") -> None:
        """A circle; a hollow one says that the figure is preliminary."""
        if hollow:
            self.mark(
                "circle", cx=x, cy=y, r=radius - 0.75, fill="ground", stroke=colour, stroke_width=1.5, title=title
            )
        else:
            self.mark("circle", cx=x, cy=y, r=radius, fill=colour, stroke="ground", stroke_width=1, title=title)

    def polyline(
        self, points: list[tuple[float, float]], stroke: str, *, width: float = 2, dash: str | None = None
    ) -> None:
        path = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
        self.mark(
            "polyline", points=path, stroke=stroke, stroke_width=width, stroke_dasharray=dash, stroke_linejoin="round"
        )

    def polygon(
        self, points: list[tuple[float, float]], fill: str, *, opacity: float = 1, stroke: str | None = None
    ) -> None:
        path = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
        self.mark("polygon", points=path, fill=fill, fill_opacity=opacity, stroke=stroke)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        paint: str = "ink",
        size: float = SIZE,
        anchor: str = "start",
        weight: int = 400,
        room: float | None = None,
        turn: float | None = None,
    ) -> None:
        """Words with their vertical middle at y, cut to `room` units with the whole text as the tooltip."""
        shown = fitted(words, self.width if room is None else room, size)
        tip = f"<title>{escaped(words[:LONGEST_TITLE])}</title>" if shown.endswith("…") else ""
        turned = f' transform="rotate({coordinate(turn)} {coordinate(x)} {coordinate(y)})"' if turn else ""
        self.parts.append(
            f'<text{self._paint(paint, None)} x="{coordinate(x)}" y="{coordinate(y + MIDDLE * size)}"'
            f' font-size="{coordinate(size)}"'
            + (f' text-anchor="{anchor}"' if anchor != "start" else "")
            + (f' font-weight="{weight}"' if weight != 400 else "")
            + f"{turned}>{tip}{escaped(shown)}</text>"
        )
