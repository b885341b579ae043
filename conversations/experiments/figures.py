"""The charts of an experiment, and of two groups of turns beside each other. A new one is a function and a line in
FIGURES or BESIDE."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _g
from django.utils.translation import gettext_lazy as _

from common.charts.distribution import Histogram, Spread, Spreads, binned
from common.charts.figure import Axis, Figure
from common.charts.heatmap import Heatmap
from common.charts.intervals import IntervalRow, Intervals
from common.charts.lines import Lines, Point, Series
from conversations.experiments.analysing import Comparison, Fact, Summary, summarise
from conversations.experiments.sample import Said, in_order


@dataclass(frozen=True, slots=True)
class Measure:
    """What is looked at. A flag (a refusal) is there or not, so that only its share can be shown."""

    label: Promise
    unit: str = ""
    is_share: bool = False
    is_flag: bool = False

    @property
    def axis(self) -> Axis:
        return Axis(str(self.label), unit=self.unit, percent=self.is_share)


MEASURES = {
    "latency_ms": Measure(_("Latency"), unit="ms"),
    "output_tokens": Measure(_("Tokens written")),
    "length": Measure(_("Length"), unit="characters"),
    "refusals": Measure(_("Refusals"), is_share=True, is_flag=True),
    "diversity": Measure(_("Different words of 50"), is_share=True),
    "similarity": Measure(_("Likeness to the turn before"), is_share=True),
}
GROUPS = {
    "model": _("Model"), "scenario": _("Scenario"), "turn": _("Turn"), "pair": _("Pair"),
    "sampling": _("Sampling"), "temperature": _("Temperature"), "top_p": _("top_p"), "max_tokens": _("Max tokens"),
}  # fmt: skip
# More lines than this hide each other.
LINES = 8
# Keys of two colours that are told apart.
SIDES = ("first", "second")


@dataclass(frozen=True, slots=True)
class Looked:
    """What the analyse page shows."""

    measure: str
    by: str
    said: tuple[Said, ...]
    summaries: list[Summary]

    @property
    def what(self) -> Measure:
        return MEASURES[self.measure]


@dataclass(frozen=True, slots=True)
class Beside:
    """What the page that compares shows: each group of both sides, and by how much the first has more."""

    measure: str
    names: tuple[str, str]
    summaries: list[tuple[str, Summary, Summary]]
    comparisons: list[tuple[str, Comparison]]

    @property
    def what(self) -> Measure:
        return MEASURES[self.measure]


def distribution(looked: Looked) -> Figure:
    """Quantiles of each group."""
    rows = () if looked.what.is_flag else tuple(_spread(one, one.group, _key(looked, one)) for one in looked.summaries)
    return Spreads(
        title=_titled(looked, _g("%(measure)s by %(group)s")),
        description=_spread_words(),
        rows=rows,
        axis=looked.what.axis,
    )


def means(looked: Looked) -> Figure:
    """The mean of each group with its interval."""
    rows = tuple(
        IntervalRow(label=one.group, value=one.mean, lower=one.lower, upper=one.upper, key=_key(looked, one))
        for one in looked.summaries
    )
    return Intervals(
        title=_titled(looked, _g("%(measure)s by %(group)s: means with 95%% intervals")),
        rows=rows,
        axis=looked.what.axis,
        sort=False,
    )


def turns(looked: Looked) -> Figure:
    """The means turn by turn, a line for each group."""
    groups: dict[str, list[Fact]] = {}
    for one in looked.said:
        name = str(looked.what.label) if looked.by == "turn" else one.group(looked.by)
        groups.setdefault(name, []).append(Fact(str(one.number), one.conversation, one.value))
    series = tuple(
        Series(name, _points(groups[name]), key=None if looked.by == "turn" else name)
        for name in in_order(groups)[:LINES]
    )
    return Lines(
        title=_g("%(measure)s turn by turn") % {"measure": looked.what.label},
        series=series,
        x_axis=Axis(_g("Turn"), whole=True),
        y_axis=looked.what.axis,
    )


def histogram(looked: Looked) -> Figure:
    """How often which value occurs, in all groups together."""
    values = [] if looked.what.is_flag else [one.value for one in looked.said]
    return Histogram(
        title=_g("%(measure)s: how often") % {"measure": looked.what.label},
        bins=binned(values),
        x_axis=looked.what.axis,
        y_axis=Axis(_g("Turns"), whole=True),
    )


def matrix(looked: Looked) -> Figure:
    """The mean of each model in each scenario."""
    cells: dict[tuple[str, str], list[float]] = {}
    for one in looked.said:
        cells.setdefault((one.model, one.cell.scenario), []).append(one.value)
    models = tuple(sorted({model for model, _scenario in cells}))
    scenarios = tuple(sorted({scenario for _model, scenario in cells}))
    return Heatmap(
        title=_g("%(measure)s: mean of each model in each scenario") % {"measure": looked.what.label},
        rows=models,
        columns=scenarios,
        cells=tuple(tuple(_mean(cells.get((model, scenario))) for scenario in scenarios) for model in models),
        axis=looked.what.axis,
    )


def differences(beside: Beside) -> Figure:
    """How much more the first has than the second, group by group."""
    rows = tuple(
        IntervalRow(label=name, value=one.difference, lower=one.lower, upper=one.upper)
        for name, one in beside.comparisons
    )
    return Intervals(
        title=_g("%(measure)s: %(first)s minus %(second)s, with 95%% intervals")
        % {"measure": beside.what.label, "first": beside.names[0], "second": beside.names[1]},
        description=_g("Right of the line the first has more."),
        rows=rows,
        axis=beside.what.axis,
        sort=False,
        reference=0.0,
    )


def both(beside: Beside) -> Figure:
    """The distributions of both sides, group by group; of a flag its shares."""
    pairs = [
        (f"{name}: {side}" if len(beside.summaries) > 1 else side, one, key)
        for name, *sides in beside.summaries
        for one, side, key in zip(sides, beside.names, SIDES, strict=True)
    ]
    title = _g("%(measure)s of both, group by group") % {"measure": beside.what.label}
    if beside.what.is_flag:
        shares = tuple(
            IntervalRow(label=label, value=one.mean, lower=one.lower, upper=one.upper, key=key)
            for label, one, key in pairs
        )
        return Intervals(title=title, rows=shares, axis=beside.what.axis, sort=False)
    rows = tuple(_spread(one, label, key) for label, one, key in pairs)
    return Spreads(title=title, description=_spread_words(), rows=rows, axis=beside.what.axis)


FIGURES: dict[str, Callable[[Looked], Figure]] = {
    one.__name__: one for one in (distribution, means, turns, histogram, matrix)
}
BESIDE: dict[str, Callable[[Beside], Figure]] = {one.__name__: one for one in (differences, both)}


def _titled(looked: Looked, what: str) -> str:
    return what % {"measure": looked.what.label, "group": str(GROUPS[looked.by]).lower()}


def _spread(one: Summary, label: str, key: str | None) -> Spread:
    return Spread(
        label=label, low=one.low, lower=one.first, median=one.median, upper=one.third, high=one.high,
        count=one.turns, key=key,
    )  # fmt: skip


def _spread_words() -> str:
    return _g("Line: from the 5th to the 95th per cent of the turns. Box: the middle half, with the median.")


def _key(looked: Looked, one: Summary) -> str | None:
    return one.group if looked.by == "model" else None


def _points(facts: Sequence[Fact]) -> tuple[Point, ...]:
    found = summarise(sorted(facts, key=lambda fact: int(fact.group)))
    return tuple(Point(int(one.group), one.mean, one.lower, one.upper) for one in found)


def _mean(values: Iterable[float] | None) -> float | None:
    if values is None:
        return None
    known = list(values)
    return sum(known) / len(known)
