"""Whatever finite numbers are given, everything is drawn within the drawing."""

import itertools
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.charts.bars import Bar, Bars
from common.charts.dates import date_ticks
from common.charts.distribution import binned
from common.charts.figure import NARROW, Figure, svg_inline
from common.charts.heatmap import Heatmap
from common.charts.intervals import IntervalRow, Intervals
from common.charts.lines import spread
from common.charts.numbers import Scale, bounds, say, tick_step, ticks
from tests.common.charts import every_kind, parsed, words

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SENSIBLE = st.floats(-1e6, 1e6)
ACROSS, DOWN = ("x", "x1", "x2", "cx"), ("y", "y1", "y2", "cy")


def outside(figure: Figure, width: int) -> list[dict[str, str]]:
    """The marks that reach over the edge of the drawing, or have no position at all."""
    root = parsed(svg_inline(figure, width))
    _, _, right, bottom = map(float, root.attrib["viewBox"].split())
    assert math.isfinite(right * bottom)
    found = []
    for each in root.iter():
        points = [tuple(map(float, pair.split(","))) for pair in each.get("points", "").split()]
        xs = [float(each.attrib[name]) for name in ACROSS if name in each.attrib] + [x for x, _ in points]
        ys = [float(each.attrib[name]) for name in DOWN if name in each.attrib] + [y for _, y in points]
        xs += [x + float(each.attrib["width"]) for x in xs[:1] if each.tag == "rect"]
        ys += [y + float(each.attrib["height"]) for y in ys[:1] if each.tag == "rect"]
        if not all(-1 <= x <= right + 1 for x in xs) or not all(-1 <= y <= bottom + 1 for y in ys):
            found.append(each.attrib)
        assert all(float(each.get(name, "0")) >= 0 for name in ("width", "height", "r"))
    return found


@settings(max_examples=60)
@given(st.lists(NUMBERS, min_size=1, max_size=5))
def test_any_finite_numbers_are_drawn_within_the_edges(values: list[float]) -> None:
    for figure in every_kind([f"m{at}" for at in range(len(values))], values):
        assert outside(figure, NARROW) == [], figure.kind


@pytest.mark.parametrize(
    "values", [[0.0], [-0.0, 0.0], [7.0, 7.0, 7.0], [1e308, -1e308], [5e-324], [-3.0, -2.0], [1e15, 1e15 + 1]]
)
def test_single_equal_and_extreme_numbers_are_drawn(values: list[float]) -> None:
    for figure in every_kind([f"m{at}" for at in range(len(values))], values):
        assert outside(figure, 720) == [], figure.kind


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="cannot be drawn"):
        Intervals(title="t", rows=(IntervalRow(label="m", value=1, lower=wrong),))
    with pytest.raises(ValueError, match="cannot be drawn"):
        Heatmap(title="t", rows=("a",), columns=("b",), cells=((wrong,),))
    with pytest.raises(ValueError, match="cannot be drawn"):
        Bars(title="t", bars=(Bar(label="a", values=(wrong,)),))
    with pytest.raises(ValueError, match="cannot be drawn"):
        binned([1.0, wrong])


@given(SENSIBLE, SENSIBLE, st.integers(1, 10))
def test_ticks_are_round_ordered_and_within(one: float, other: float, count: int) -> None:
    low, high = bounds([one, other])
    found = ticks(low, high, count)
    assert found == sorted(found)
    assert len(found) <= count + 2
    assert all(low <= tick <= high for tick in found)
    assert f"{tick_step(low, high, count):.3e}"[:4] in ("1.00", "2.00", "2.50", "5.00")


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_scale_keeps_order_and_bounds(one: float, other: float, value: float) -> None:
    low, high = bounds([one, other])
    scale = Scale(low, high, 10, 20)
    assert 10 <= scale(value) <= 20
    assert scale(low) == 10
    assert scale(high) == 20


@given(st.lists(st.floats(0, 300), min_size=1, max_size=20))
def test_labels_at_line_ends_do_not_overlap(places: list[float]) -> None:
    found = spread(sorted(places), 14, 0, 300)
    assert all(after - before >= 14 - 1e-6 for before, after in itertools.pairwise(found))
    assert found[0] >= -1e-6
    assert found[-1] <= 300 + 1e-6


@given(st.lists(SENSIBLE, min_size=1, max_size=200))
def test_bins_hold_every_value_once(values: list[float]) -> None:
    bins = binned(values)
    assert sum(each.count for each in bins) == len(values)
    assert bins[0].low <= min(values)
    assert bins[-1].high >= max(values) - 1e-6


@pytest.mark.parametrize(
    ("span", "count", "expected"),
    [
        (3600 * 6, 6, ["1 Jan", "01:00", "02:00", "03:00", "04:00", "05:00", "06:00"]),
        (86400 * 3, 4, ["1 Jan", "2 Jan", "3 Jan", "4 Jan"]),
        (86400 * 200, 4, ["1970", "Apr", "Jul"]),
        (86400 * 365 * 3 + 86400, 4, ["1970", "1971", "1972", "1973"]),
    ],
)
def test_dates_on_an_axis_are_round(span: int, count: int, expected: list[str]) -> None:
    assert [said for _, said in date_ticks(0, span, count)] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "0"), (-0.0, "0"), (1234.5, "1,234"), (-12.5, "\u221212.5"), (0.123456, "0.123"), (1e20, "1e+20"), (3.0, "3")],
)
def test_numbers_are_said_as_people_read_them(value: float, expected: str) -> None:
    assert say(value) == expected


def test_percentages_and_millions_are_short() -> None:
    assert say(0.4321, step=0.1, percent=True) == "43%"
    assert say(12_500_000, step=500_000) == "12.5M"


def test_rows_stand_in_order_and_those_without_a_rating_below() -> None:
    rows = [("low", 900.0), ("none", None), ("high", 1100.0)]
    figure = Intervals(title="t", rows=tuple(IntervalRow(label=label, value=value) for label, value in rows))
    assert [row[0] for row in figure.table().rows] == ["high", "low", "none"]
    shown = words(svg_inline(figure))
    assert [label for label in shown if label in ("low", "none", "high")] == ["high", "low", "none"]
    assert "no rating" in shown


def test_two_hundred_rows_and_large_matrices_stay_small() -> None:
    many = Intervals(title="t", rows=tuple(IntervalRow(label=f"m{at}", value=at, key=str(at)) for at in range(200)))
    assert outside(many, NARROW) == []
    cells = tuple(tuple((at * index % 7) / 7 for index in range(50)) for at in range(80))
    names = tuple(f"row {at}" for at in range(80))
    matrix = svg_inline(Heatmap(title="t", rows=names, columns=names[:50], cells=cells))
    assert len(matrix) < 2_000_000
    assert len(re.findall("<title>row 7 × row ", matrix)) == 50  # noqa: RUF001 - a multiplication sign
