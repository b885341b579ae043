"""Figures of a run in a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from evaluations.matrix import Cell, Line
from evaluations.reading.charts import part_words
from evaluations.reports.tables import scorer_rows
from evaluations.verdicts import State

register = template.Library()
register.filter("scorer_rows", scorer_rows)
register.filter("part_words", part_words)


@register.filter
def mean_of(means: Mapping[str, Any], name: str) -> float | None:
    """The mean of one turn or category, where there is one."""
    found = means.get(name)
    return None if found is None else found["mean"]


@register.filter
def at(row: Sequence[Any], place: int) -> Any:
    return row[place]


@register.filter
def percent(share: float | None) -> str:
    """0.125 as 12.5%; nothing for None."""
    return "" if share is None else f"{share:.1%}"


@register.filter
def of(share: Mapping[str, Any] | None) -> str:
    """A share with what it is of: 66.8% (589 of 882); nothing where it is of nothing."""
    return f"{share['rate']:.1%} ({share['agreed']:,} of {share['of']:,})" if share and share["of"] else ""


STATES = {
    State.PARSE: _("no clear verdict"),
    State.OUT_OF_RANGE: _("out of range"),
    State.REFUSED: _("refused"),
    State.RATE: _("over a limit"),
    State.TIMEOUT: _("too slow"),
    State.UPSTREAM: _("service failed"),
}


@register.filter
def state_words(state: str) -> Any:
    """Why a judgment has no verdict."""
    return STATES.get(State(state), state)


@register.filter
def duration(seconds: int) -> str:
    """As exactly as a guess deserves: 45 s, 12 min, 3 h."""
    if seconds < 90:
        return f"{seconds} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"


@register.filter
def points(value: float | None) -> str:
    """A difference with its sign: +0.35."""
    return "" if value is None else f"{value:+.2f}"


@register.filter
def p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


@register.filter
def heat(score: float | None) -> str:
    """The class of a cell's ground: h1 to h10, by the score."""
    return "" if score is None else f"h{min(10, max(1, round(score)))}"


@register.simple_tag
def matrix_cells(line: Line) -> SafeString:
    """The cells of a line as links to their answers. A template's loop would take ten times as long over thousands."""
    query = f"?models={escape(line.slug)}"
    return mark_safe("".join(_cell(cell, query) for cell in line.cells))  # numbers, and a slug that is escaped


def _cell(cell: Cell, query: str) -> str:
    if not cell.words:
        return "<td></td>"
    mark = heat(cell.score)
    words = f"{cell.words}!" if cell.has_failed and cell.score is not None else cell.words
    return f'<td class="num {mark}"><a href="questions/{cell.number}/{query}">{words}</a></td>'
