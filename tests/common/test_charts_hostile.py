"""Names in charts are written by strangers; whatever they hold, a chart is a well-formed drawing and nothing else."""

import csv
import io
import json

import pytest
from django.template import Context, Template

from common.charts.figure import NARROW, Figure, svg_file, svg_inline
from common.charts.views import chart_response
from tests.common.charts import every_kind, parsed, words

HOSTILE = [
    "<script>alert(1)</script>",
    "\"quotes' & &amp; ]]> <!-- -->",
    "nul \x00 bell \x07 lone \ud800 none \uffff",
    "🐳👩\u200d👩\u200d👧 e\u0301\u0301\u0301",
    "نموذج \u202e reversed \u2066",
    "=HYPERLINK(1)",
    "x" * 5000,
    "\u0301" * 5000,
    "漢字" * 400,
    "two\nlines\tand tab",
    "",
]
FIGURES = every_kind(HOSTILE, [float(at * at - 20) for at in range(len(HOSTILE))])
EMPTY = every_kind([], [])
KINDS = pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.kind)


@KINDS
@pytest.mark.parametrize("width", [NARROW, 900])
def test_hostile_names_stay_text(figure: Figure, width: int) -> None:
    for svg in (svg_inline(figure, width), svg_file(figure, width)):
        tags = {each.tag.rpartition("}")[2] for each in parsed(svg).iter()}
        assert tags <= {"svg", "title", "desc", "g", "rect", "circle", "line", "polyline", "polygon", "text"}
        attributes = {name for each in parsed(svg).iter() for name in each.attrib}
        assert not any(name == "style" or name.startswith("on") or "href" in name for name in attributes)
        assert len(svg) < 400_000


@KINDS
def test_a_long_name_is_cut_in_the_drawing_and_whole_in_the_table(figure: Figure) -> None:
    assert all(len(shown) < 200 for shown in words(svg_file(figure)))
    if figure.kind not in ("histogram", "lines"):
        table = figure.table()
        assert "x" * 5000 in [*table.columns, *(cell for row in table.rows for cell in row)]


@KINDS
def test_a_screen_reader_hears_a_title_and_a_description(figure: Figure) -> None:
    root = parsed(svg_inline(figure))
    named = root.attrib["aria-labelledby"].split()
    found = {each.attrib["id"]: each.text for each in root if "id" in each.attrib}
    assert root.attrib["role"] == "img"
    assert next(found[name] for name in named) == "<script>alert(1)</script>"
    assert all(found[name] for name in named)


@KINDS
def test_a_page_escapes_them_too_and_offers_table_and_files(figure: Figure) -> None:
    page = Template("{% load charts %}{% chart figure '/x/y' %}").render(Context({"figure": figure}))
    assert "<script" not in page
    assert " style=" not in page
    assert "<details>" in page
    assert 'href="/x/y.svg"' in page
    assert all(ending in page for ending in ("/x/y.png", "/x/y.csv", "/x/y.json"))


@pytest.mark.parametrize("figure", EMPTY, ids=lambda figure: figure.kind)
def test_a_chart_without_data_says_so(figure: Figure) -> None:
    assert words(svg_inline(figure)) == ["There is nothing to show here yet."]
    page = Template("{% load charts %}{% chart figure '/x/y' %}").render(Context({"figure": figure}))
    assert ".svg" not in page


@KINDS
def test_the_files_of_the_table_hold_every_cell(figure: Figure) -> None:
    table = figure.table()
    lines = list(csv.reader(io.StringIO(chart_response(figure, "csv").content.decode("utf-8", "surrogatepass"))))
    assert len(lines) >= 1 + len(table.rows)
    document = json.loads(chart_response(figure, "json").content)
    assert len(document["rows"]) == len(table.rows)
    assert all(len(row) == len(table.columns) for row in table.rows)


def test_a_formula_in_the_csv_is_defused() -> None:
    rows, matrix = (chart_response(figure, "csv").content.decode() for figure in FIGURES[:2])
    assert "\r\n'=HYPERLINK(1)," in rows
    assert ",'=HYPERLINK(1)," in matrix
