"""Charts of agreement and of differences between runs."""

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _g

from common.charts.figure import Axis, Figure
from common.charts.heatmap import Heatmap
from common.charts.intervals import IntervalRow, Intervals
from evaluations.reading.summaries import Reading
from evaluations.reports.figures import agreement


def judging_figures(reading: Reading) -> dict[str, Figure]:
    """Judge by judge, and which judge flips where; only those with something to show."""
    figures = {"judges": agreement(reading.facts), "flipped": _flipped(reading.summary.agreement)}
    return {name: figure for name, figure in figures.items() if not figure.is_empty}


def _flipped(report: Mapping[str, Any]) -> Figure:
    """Judge by category: the share of games whose winner changed with the order."""
    parts = [name for name in report if name.startswith("category:")]
    judges = [judge for judge, own in report.get("", {}).get("leanings", {}).items() if own["games"]]
    return Heatmap(
        title=_g("Verdicts that flipped with the order of the answers"),
        rows=tuple(judges),
        columns=tuple(name.partition(":")[2] for name in parts) if judges else (),
        cells=tuple(tuple(report[name]["leanings"][judge]["flipped"]["rate"] for name in parts) for judge in judges),
        axis=Axis(_g("Share of the games"), percent=True),
        low=0.0,
        high=1.0,
    )


def _by(by: str, title: Callable[[], str]) -> Callable[[Mapping[str, Any]], Figure]:
    def draw(report: Mapping[str, Any]) -> Figure:
        rows = {(row["judge"], row["value"]): row["with_ties"]["rate"] for row in report["rows"] if row["by"] == by}
        columns = tuple(sorted({value for _, value in rows}))
        return Heatmap(
            title=title(),
            rows=tuple(report["judges"]),
            columns=columns,
            cells=tuple(tuple(rows.get((judge, value)) for value in columns) for judge in report["judges"]),
            axis=Axis(_g("Share of the same verdicts, ties included"), percent=True),
            low=0.0,
            high=1.0,
        )

    return draw


VOTE_FIGURES: dict[str, Callable[[Mapping[str, Any]], Figure]] = {
    "categories": _by("category", lambda: _g("How often judges agree with people, by category")),
    "turns": _by("turn", lambda: _g("How often judges agree with people, by turn")),
}


def difference_figure(document: Mapping[str, Any]) -> Figure:
    """Every model's difference over all questions with its interval; of a single one, also by category and turn."""
    rows = document["differences"]
    models = {(row["first"], row["second"]) for row in rows}
    shown = rows if len(models) == 1 else [row for row in rows if not row["part"]]
    return Intervals(
        title=_g("Difference of the mean scores, second less first, with 95% intervals"),
        rows=tuple(
            IntervalRow(
                label=part_words(row["part"]) if len(models) == 1 else row["second"],
                value=row["difference"],
                lower=row["lower"],
                upper=row["upper"],
                key=row["second"],
            )
            for row in shown
        ),
        axis=Axis(_g("Points")),
        missing="",
    )


def part_words(part: str) -> str:
    """A part of the questions in words."""
    by, _, value = part.partition(":")
    if not by:
        return _g("All questions")
    return _g("Turn %(number)s") % {"number": value} if by == "turn" else value
