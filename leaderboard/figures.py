"""The leaderboard's charts, each from what a snapshot holds. A new chart is a function and a line in FIGURES."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _g

from common.charts.bars import Bar, Bars
from common.charts.figure import Axis, Figure
from common.charts.heatmap import Heatmap
from common.charts.intervals import IntervalRow, Intervals
from common.charts.lines import Lines, Point, Series
from leaderboard.methods import Standing
from leaderboard.models import Snapshot
from leaderboard.shown import Shown
from leaderboard.statistics.types import MEAN

# Best models of a matrix: more columns than this cannot be read.
MATRIX_MODELS = 40


def ratings(asked: Shown) -> Figure:
    """Every model's rating with its interval."""
    is_share = asked.method.scale == "share"
    rows = tuple(
        IntervalRow(
            label=row.rating.model.name,
            value=row.place.rating,
            lower=row.place.rating_lower,
            upper=row.place.rating_upper,
            key=row.rating.model.slug,
            preliminary=row.is_preliminary,
        )
        for row in asked.standings
    )
    return Intervals(
        title=_g("Ratings with 95% intervals"),
        description=_describe(asked.standings),
        rows=rows,
        axis=Axis(_g("Share of wins") if is_share else _g("Rating"), percent=is_share),
        reference=0.5 if is_share else MEAN,
    )


def matrix(asked: Shown) -> Figure:
    """How often the model of the row wins against that of the column."""
    rates, _ = _matrices(asked)
    names = _names(asked)
    return Heatmap(
        title=_g("Win rate of the row against the column"),
        description=_g("Ties are half a win. An empty cell: the two never met."),
        rows=names,
        columns=names,
        cells=rates,
        axis=Axis(_g("Win rate"), percent=True),
        low=0.0,
        high=1.0,
        centre=0.5,
    )


def pairs(asked: Shown) -> Figure:
    """How often each pair met."""
    _, met = _matrices(asked)
    names = _names(asked)
    return Heatmap(
        title=_g("Votes on each pair"),
        description=_g("How often two models were compared, “both bad” included."),
        rows=names,
        columns=names,
        cells=met,
        axis=Axis(_g("Votes")),
        low=0.0,
    )


def history(asked: Shown) -> Figure:
    """The best models' ratings over time."""
    found = _extra(asked.snapshot, "history")
    moments = [datetime.fromisoformat(time) for time in found.get("times", [])]
    lines = found.get("ratings", {})
    series = tuple(
        Series(
            label=row.rating.model.name,
            points=tuple(
                Point(moment, value) for moment, value in zip(moments, lines[key], strict=True) if value is not None
            ),
            key=row.rating.model.slug,
        )
        for row in asked.standings
        if (key := str(row.rating.model_id)) in lines
    )
    return Lines(
        title=_g("Ratings over time"),
        description=_g("Bradley-Terry ratings from all votes until then, of the best models of today."),
        series=tuple(line for line in series if line.points),
        y_axis=Axis(_g("Rating")),
    )


def votes(asked: Shown) -> Figure:
    """Votes in each period."""
    found = _extra(asked.snapshot, "history")
    form = "%d %b %H:%M" if found.get("unit") == "hour" else "%d %b %Y"
    bars = tuple(
        Bar(label=datetime.fromisoformat(time).strftime(form), values=(float(number),))
        for time, number in zip(found.get("times", []), found.get("votes", []), strict=True)
    )
    return Bars(title=_g("Votes over time"), bars=bars, axis=Axis(_g("Votes")), vertical=True)


FIGURES: dict[str, Callable[[Shown], Figure]] = {
    figure.__name__: figure for figure in (ratings, matrix, history, votes, pairs)
}


def _describe(standings: Sequence[Standing]) -> str:
    rated = [row for row in standings if row.place.rating is not None]
    if not rated:
        return ""
    return _g("%(count)d models; %(best)s is first, %(worst)s is last.") % {
        "count": len(rated),
        "best": rated[0].rating.model.name,
        "worst": rated[-1].rating.model.name,
    }


def _named(asked: Shown) -> list[Standing]:
    return asked.standings[:MATRIX_MODELS]


def _names(asked: Shown) -> tuple[str, ...]:
    return tuple(row.rating.model.name for row in _named(asked))


Cells = tuple[tuple[float | None, ...], ...]


def _matrices(asked: Shown) -> tuple[Cells, Cells]:
    """Win rates and numbers of votes, best models first."""
    place = {row.rating.model_id: index for index, row in enumerate(_named(asked))}
    rates: list[list[float | None]] = [[None] * len(place) for _ in place]
    met: list[list[float | None]] = [[None] * len(place) for _ in place]
    for first, second, wins_first, wins_second, ties, both_bad in asked.pairs:
        if first in place and second in place:
            i, j = place[first], place[second]
            played = wins_first + wins_second + ties
            met[i][j] = met[j][i] = float(played + both_bad)
            if played:
                rates[i][j] = (wins_first + ties / 2) / played
                rates[j][i] = (wins_second + ties / 2) / played
    return tuple(map(tuple, rates)), tuple(map(tuple, met))


def _extra(snapshot: Snapshot | None, name: str) -> dict[str, Any]:
    return (snapshot.extras.get(name) or {}) if snapshot else {}
