"""Figures of every kind for the tests of the charts, and a reader of what was drawn."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

from common.charts.bars import Bar, Bars
from common.charts.distribution import Histogram, Spread, Spreads, binned
from common.charts.figure import Axis, Figure
from common.charts.heatmap import Heatmap
from common.charts.intervals import IntervalRow, Intervals
from common.charts.lines import Lines, Point, Series
from common.charts.radar import Profile, Radar
from common.charts.scatter import Scatter, Spot

START = datetime(2026, 3, 1, tzinfo=UTC)


def every_kind(names: list[str], values: list[float]) -> list[Figure]:
    """A figure of each kind with these names and numbers, as many of either."""
    pairs = list(zip(names, values, strict=True))
    title = names[0] if names else "Empty"
    days = [START + timedelta(days=at) for at in range(len(pairs))]
    quantiles = [sorted([value, *values[:4], *[value] * 4])[:5] for value in values]
    return [
        Intervals(
            title=title,
            rows=tuple(IntervalRow(label=n, value=v, lower=v, upper=max(values), key=n) for n, v in pairs),
            axis=Axis(title, title),
        ),
        Heatmap(
            title=title,
            rows=tuple(names),
            columns=tuple(names),
            cells=tuple(tuple(values) for _ in names),
            axis=Axis(title),
        ),
        Lines(
            title=title,
            series=tuple(
                Series(n, tuple(Point(day, v, min(v, w), max(v, w)) for day, w in zip(days, values, strict=True)), n)
                for n, v in pairs
            ),
            y_axis=Axis(title),
        ),
        Lines(title=title, series=(Series(title, tuple(Point(v, v) for v in values)),), steps=True),
        Bars(title=title, bars=tuple(Bar(label=n, values=(v,), lower=v, upper=max(values)) for n, v in pairs)),
        Bars(title=title, vertical=True, bars=tuple(Bar(label=n, values=(v,), key=n) for n, v in pairs)),
        Bars(title=title, parts=(title, "b"), bars=tuple(Bar(label=n, values=(v / 2, -v / 2)) for n, v in pairs)),
        Radar(title=title, categories=tuple(names), profiles=tuple(Profile(n, tuple(values), n) for n in names)),
        Histogram(title=title, bins=binned(values), x_axis=Axis(title)),
        Spreads(
            title=title,
            rows=tuple(
                Spread(label=n, low=q[0], lower=q[1], median=q[2], upper=q[3], high=q[4], key=n)
                for n, q in zip(names, quantiles, strict=True)
            ),
        ),
        Scatter(
            title=title,
            spots=tuple(Spot(label=n, x=v, y=v, x_lower=min(values), x_upper=v, key=n) for n, v in pairs),
            diagonal=True,
        ),
        Scatter(title=title, spots=tuple(Spot(label=n, x=abs(v) or 1, y=v) for n, v in pairs), log_x=True),
    ]


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def words(svg: str) -> list[str]:
    """The texts that a reader sees, without tooltips."""
    return [
        (each.text or "") + "".join(child.tail or "" for child in each)
        for each in parsed(svg).iter()
        if each.tag.endswith("text")
    ]
