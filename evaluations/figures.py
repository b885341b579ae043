"""A run's charts. A new one is a function and a line in FIGURES."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from django.utils.translation import gettext as _g

from common.charts.bars import Bar, Bars
from common.charts.figure import Axis, Figure
from common.charts.heatmap import Heatmap
from common.charts.intervals import IntervalRow, Intervals
from common.charts.radar import Profile, Radar
from evaluations.scoring import ModelScores, Score, distribution, scores_table

# More profiles than this hide each other.
RADAR_MODELS = 6
LOWEST, HIGHEST = 1.0, 10.0


def overall(scores: list[Score], lines: list[ModelScores]) -> Figure:
    """Every model's mean with its interval."""
    rows = tuple(
        IntervalRow(
            label=line.model,
            value=line.overall.mean,
            lower=line.overall.lower,
            upper=line.overall.upper,
            key=line.model,
        )
        for line in lines
    )
    return Intervals(title=_g("Mean scores with 95% intervals"), rows=rows, axis=Axis(_g("Score")), missing="")


def radar(scores: list[Score], lines: list[ModelScores]) -> Figure:
    """The best models' profiles over the categories."""
    categories = _categories(scores)
    profiles = tuple(
        Profile(
            line.model, tuple(line.categories[name].mean if name in line.categories else None for name in categories)
        )
        for line in lines[:RADAR_MODELS]
    )
    return Radar(
        title=_g("Scores by category"),
        categories=categories,
        profiles=profiles,
        axis=Axis(_g("Score")),
        low=0.0,
        high=HIGHEST,
    )


def categories(scores: list[Score], lines: list[ModelScores]) -> Figure:
    """Model by category."""
    names = _categories(scores)
    return Heatmap(
        title=_g("Mean score of each model in each category"),
        rows=tuple(line.model for line in lines),
        columns=names,
        cells=tuple(
            tuple(line.categories[name].mean if name in line.categories else None for name in names) for line in lines
        ),
        axis=Axis(_g("Score")),
        low=LOWEST,
        high=HIGHEST,
    )


def questions(scores: list[Score], lines: list[ModelScores]) -> Figure:
    """Model by question."""
    cells: dict[tuple[str, int], list[float]] = defaultdict(list)
    for score in scores:
        cells[score.model, score.question].append(score.score)
    models = tuple(line.model for line in lines)
    numbers = sorted({score.question for score in scores})
    return Heatmap(
        title=_g("Mean score of each model on each question"),
        rows=models,
        columns=tuple(map(str, numbers)),
        cells=tuple(tuple(_mean(cells.get((model, number))) for number in numbers) for model in models),
        axis=Axis(_g("Score")),
        low=LOWEST,
        high=HIGHEST,
    )


def turns(scores: list[Score], lines: list[ModelScores]) -> Figure:
    """Model by turn."""
    numbers = sorted({score.turn for score in scores})
    return Heatmap(
        title=_g("Mean score of each model in each turn"),
        rows=tuple(line.model for line in lines),
        columns=tuple(_g("Turn %(number)d") % {"number": number} for number in numbers),
        cells=tuple(
            tuple(line.turns[number].mean if number in line.turns else None for number in numbers) for line in lines
        ),
        axis=Axis(_g("Score")),
        low=LOWEST,
        high=HIGHEST,
    )


def spread(scores: list[Score], lines: list[ModelScores]) -> Figure:
    """How often each score was given, by model."""
    counts = distribution(scores)
    models = tuple(line.model for line in lines)
    values = range(int(LOWEST), int(HIGHEST) + 1)
    return Bars(
        title=_g("How often each score was given"),
        bars=tuple(
            Bar(label=str(value), values=tuple(float(counts[model].get(value, 0)) for model in models))
            for value in values
        ),
        parts=models,
        axis=Axis(_g("Judgments")),
        vertical=True,
    )


FIGURES: dict[str, Callable[[list[Score], list[ModelScores]], Figure]] = {
    "overall": overall,
    "radar": radar,
    "categories": categories,
    "questions": questions,
    "turns": turns,
    "spread": spread,
}


def figures_of(scores: list[Score]) -> dict[str, Figure]:
    """All charts of graded answers; {} where there are none."""
    lines = scores_table(scores)
    return {name: draw(scores, lines) for name, draw in FIGURES.items()} if scores else {}


def _categories(scores: Iterable[Score]) -> tuple[str, ...]:
    return tuple(sorted({score.category for score in scores}))


def _mean(values: list[float] | None) -> float | None:
    return sum(values) / len(values) if values else None
