"""A run's charts. A new one is a function and a line in FIGURES."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.utils.translation import gettext as _g

from common.charts.bars import Bar, Bars
from common.charts.figure import Axis, Figure
from common.charts.heatmap import Heatmap
from common.charts.intervals import IntervalRow, Intervals
from common.charts.paint import colours_apart
from common.charts.radar import Profile, Radar
from evaluations.scoring import Mean, ModelScores, Score, distribution, scores_table

# More profiles than this hide each other.
RADAR_MODELS = 6
RADAR_CATEGORIES = 3
# More parts than this of a stack have no colour of their own.
STACKED_MODELS = 8
LOWEST, HIGHEST = 1.0, 10.0


@dataclass(frozen=True)
class Facts:
    """What the charts are drawn from: the table's lines, the mean of each model on each question, and how often each
    model got each score. `agreement` holds how far two judges agree, from 0 to 1, by their names."""

    lines: Sequence[ModelScores]
    questions: Mapping[str, Mapping[int, float]]
    distribution: Mapping[str, Mapping[int, int]]
    agreement: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(line.model for line in self.lines)

    @cached_property
    def colours(self) -> Mapping[str, str]:
        """One for each model, the same in all charts."""
        return colours_apart(self.models)

    @property
    def categories(self) -> tuple[str, ...]:
        return tuple(sorted({name for line in self.lines for name in line.categories}))

    @property
    def turns(self) -> tuple[int, ...]:
        return tuple(sorted({turn for line in self.lines for turn in line.turns}))


def facts_of(scores: list[Score]) -> Facts:
    """Count what the charts need."""
    cells: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        cells[score.model][score.question].append(score.score)
    means = {
        model: {number: sum(values) / len(values) for number, values in sorted(own.items())}
        for model, own in cells.items()
    }
    return Facts(scores_table(scores), means, distribution(scores))


def facts_stored(document: Mapping[str, Any], facts: Mapping[str, Any]) -> Facts:
    """The same from a summary's document and facts."""
    lines = [
        ModelScores(
            model=row["model_name"],
            overall=Mean(**row["overall_score"]),
            turns={int(turn): Mean(**mean) for turn, mean in row["turn_scores"].items()},
            categories={name: Mean(**mean) for name, mean in row["category_breakdown"].items()},
            rank=row["rank"],
        )
        for row in document["model_results"]
    ]
    return Facts(
        lines,
        {model: {int(number): mean for number, mean in own.items()} for model, own in facts["questions"].items()},
        {model: {int(score): count for score, count in own.items()} for model, own in facts["distribution"].items()},
        {(one, two): value for one, two, value in facts["agreement"]},
    )


def overall(facts: Facts) -> Figure:
    """Every model's mean with its interval."""
    rows = tuple(
        IntervalRow(
            label=line.model,
            value=line.overall.mean,
            lower=line.overall.lower,
            upper=line.overall.upper,
            paint=facts.colours[line.model],
        )
        for line in facts.lines
    )
    return Intervals(title=_g("Mean scores with 95% intervals"), rows=rows, axis=Axis(_g("Score")), missing="")


def radar(facts: Facts) -> Figure:
    """The best models' profiles over the categories; of fewer than three there is no shape to see."""
    shown = facts.lines[:RADAR_MODELS] if len(facts.categories) >= RADAR_CATEGORIES else []
    profiles = tuple(
        Profile(
            line.model,
            tuple(_mean(line.categories.get(name)) for name in facts.categories),
            key=line.model,
            paint=facts.colours[line.model],
        )
        for line in shown
    )
    return Radar(
        title=_g("Scores by category"),
        categories=facts.categories,
        profiles=profiles,
        axis=Axis(_g("Score")),
        low=0.0,
        high=HIGHEST,
    )


def categories(facts: Facts) -> Figure:
    """Model by category."""
    return _heatmap(
        _g("Mean score of each model in each category"),
        facts.models,
        facts.categories,
        ((_mean(line.categories.get(name)) for name in facts.categories) for line in facts.lines),
    )


def questions(facts: Facts) -> Figure:
    """Model by question."""
    numbers = sorted({number for own in facts.questions.values() for number in own})
    return _heatmap(
        _g("Mean score of each model on each question"),
        facts.models,
        [str(number) for number in numbers],
        ((facts.questions[model].get(number) for number in numbers) for model in facts.models),
    )


def turns(facts: Facts) -> Figure:
    """Model by turn."""
    return _heatmap(
        _g("Mean score of each model in each turn"),
        facts.models,
        [_g("Turn %(number)d") % {"number": number} for number in facts.turns],
        ((_mean(line.turns.get(number)) for number in facts.turns) for line in facts.lines),
    )


def spread(facts: Facts) -> Figure:
    """How often each score was given, by model."""
    counts, values = facts.distribution, range(int(LOWEST), int(HIGHEST) + 1)
    title = _g("How often each score was given")
    if len(facts.models) > STACKED_MODELS:
        return Heatmap(
            title=title,
            rows=facts.models,
            columns=tuple(map(str, values)),
            cells=tuple(tuple(float(counts[model].get(value, 0)) for value in values) for model in facts.models),
            axis=Axis(_g("Judgments"), whole=True),
            low=0.0,
        )
    return Bars(
        title=title,
        bars=tuple(
            Bar(label=str(value), values=tuple(float(counts[model].get(value, 0)) for model in facts.models))
            for value in values
        ),
        parts=facts.models,
        paints=tuple(facts.colours[model] for model in facts.models),
        axis=Axis(_g("Judgments")),
        vertical=True,
    )


def agreement(facts: Facts) -> Figure:
    """Judge by judge: grades that differ by one at most, or the same winner of a game."""
    names = tuple(sorted({name for pair in facts.agreement for name in pair}))
    found = facts.agreement
    return Heatmap(
        title=_g("How often two judges agree"),
        rows=names,
        columns=names,
        cells=tuple(tuple(found.get((one, two), found.get((two, one))) for two in names) for one in names),
        axis=Axis(_g("Share of the same winners, or of grades at most one apart"), percent=True),
        low=0.0,
        high=1.0,
    )


def _heatmap(
    title: str, rows: Sequence[str], columns: Sequence[str], cells: Iterable[Iterable[float | None]]
) -> Heatmap:
    return Heatmap(
        title=title,
        rows=tuple(rows),
        columns=tuple(columns),
        cells=tuple(map(tuple, cells)),
        axis=Axis(_g("Score")),
        low=LOWEST,
        high=HIGHEST,
    )


FIGURES: dict[str, Callable[[Facts], Figure]] = {
    "overall": overall,
    "radar": radar,
    "categories": categories,
    "questions": questions,
    "turns": turns,
    "spread": spread,
    "agreement": agreement,
}


def figures_from(facts: Facts) -> dict[str, Figure]:
    """All charts that have something to show."""
    drawn = {name: draw(facts) for name, draw in FIGURES.items()}
    return {
        name: figure for name, figure in drawn.items() if not figure.is_empty and (facts.lines or name == "agreement")
    }


def figures_of(scores: list[Score]) -> dict[str, Figure]:
    """All charts of graded answers; {} where there are none."""
    return figures_from(facts_of(scores)) if scores else {}


def _mean(mean: Mean | None) -> float | None:
    return None if mean is None else mean.mean
