"""Charts as answers: SVG, PNG, and the table behind as CSV or JSON."""

import json
from datetime import datetime

from django.http import HttpResponse
from django.utils.text import slugify

from common.charts.figure import WIDE, Cell, Figure, svg_file
from common.charts.png import png
from common.charts.text import encodable
from common.csv import csv_lines, defused
from common.errors import NotFound

# What may be asked for, by the ending of the address.
FORMATS = {
    "svg": "image/svg+xml; charset=utf-8",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
}


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return encodable(cell)
    return cell.isoformat() if isinstance(cell, datetime) else cell


def _table_csv(figure: Figure) -> str:
    table = figure.table()
    # The header is defused as the rows are: in a matrix it holds names, too.
    header = [str(defused(encodable(name))) for name in table.columns]
    return "".join(csv_lines(header, ([_plain(cell) for cell in row] for row in table.rows)))


def _table_json(figure: Figure) -> str:
    table = figure.table()
    rows = [[_plain(cell) for cell in row] for row in table.rows]
    document = {"title": figure.title, "description": figure.description, "columns": table.columns, "rows": rows}
    return json.dumps(document)


def chart_response(figure: Figure, ending: str, *, width: float = WIDE, scale: float = 2.0) -> HttpResponse:
    """The figure as a download: `svg`, `png`, `csv` or `json`. Raises NotFound for any other ending."""
    content: str | bytes
    match ending:
        case "svg":
            content = svg_file(figure, figure.widths[-1] if len(figure.widths) == 1 else width)
        case "png":
            content = png(svg_file(figure, figure.widths[-1] if len(figure.widths) == 1 else width), scale)
        case "csv":
            content = _table_csv(figure)
        case "json":
            content = _table_json(figure)
        case _:
            raise NotFound("A chart can be had as svg, png, csv or json.")
    response = HttpResponse(content, content_type=FORMATS[ending])
    name = slugify(figure.title)[:60] or figure.kind
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return response
