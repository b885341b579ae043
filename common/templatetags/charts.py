"""`{% chart figure %}`: a chart in a page, with its caption, its downloads and the table behind it."""

from datetime import datetime

from django import template
from django.utils.safestring import SafeString, mark_safe

from common.charts.figure import WIDE, Cell, Figure, svg_inline
from common.charts.numbers import say
from common.charts.text import encodable

register = template.Library()


def _cell(cell: Cell) -> str:
    if isinstance(cell, datetime):
        return cell.strftime("%Y-%m-%d %H:%M")
    if isinstance(cell, int):
        return f"{cell:,}"
    return say(cell) if isinstance(cell, float) else encodable(cell or "")


@register.inclusion_tag("components/chart.html")
def chart(
    figure: Figure, download: str = "", width: int = WIDE, heading: bool = True, query: str = ""
) -> dict[str, object]:
    """Draw a figure inline.

    `download` is the address of its files without the ending (`/leaderboard/charts/ratings`, to which `.svg`, `.png`,
    `.csv` and `.json` are added, then `query`); without one there are no links. `width` is the width on a desk, in CSS
    pixels.
    """
    table = figure.table()
    return {
        "title": encodable(figure.title),
        "heading": heading,
        "download": download,
        "query": f"?{query}" if query else "",
        "drawings": [(_size(figure, of), _inline(figure, of)) for of in _widths(figure, width)],
        "columns": [encodable(name) for name in table.columns],
        "rows": [[(_cell(cell), isinstance(cell, int | float)) for cell in row] for row in table.rows],
    }


def _widths(figure: Figure, width: int) -> list[int]:
    return [*figure.widths[:-1], width] if len(figure.widths) > 1 else list(figure.widths)


def _size(figure: Figure, width: int) -> str:
    if len(figure.widths) == 1:
        return "natural"
    return "narrow" if width == figure.widths[0] else "wide"


def _inline(figure: Figure, width: int) -> SafeString:
    return mark_safe(svg_inline(figure, width))  # every text in it went through common.charts.text.escaped
