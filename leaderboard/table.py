"""The leaderboard as the page shows it: sorted rows, and intervals drawn on one common axis."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor
from urllib.parse import urlencode

from django.utils.translation import gettext_lazy as _

from leaderboard.methods import Method, Standing

# The drawing's own units; the page scales it.
WIDTH, EDGE = 200.0, 6.0
# Whole steps at which the axis begins and ends.
STEPS = {"points": 50.0, "share": 0.1}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that can be sorted by. Where `descending`, the first click shows the highest value first."""

    key: str
    label: object
    value: Callable[[Standing], float | str | None]
    descending: bool = True
    is_number: bool = True


COLUMNS = {
    column.key: column
    for column in (
        Column("rank", _("Rank"), lambda row: row.place.rank, descending=False),
        Column("model", _("Model"), lambda row: row.rating.model.name.casefold(), descending=False, is_number=False),
        Column("rating", _("Rating"), lambda row: row.place.rating),
        Column("elo", _("Elo"), lambda row: row.rating.elo),
        Column("win_rate", _("Win rate"), lambda row: row.rating.win_rate),
        Column("wins", _("Wins / losses / ties"), lambda row: row.rating.wins),
        Column("both_bad", _("Both bad"), lambda row: row.rating.both_bad_rate),
        Column("comparisons", _("Votes"), lambda row: row.rating.comparisons),
    )
}
DEFAULT = "rank"


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading: where its link leads, and how the table is sorted by it now."""

    key: str
    label: object
    query: str
    aria_sort: str
    is_number: bool


def sorting(sort: str, direction: str) -> tuple[Column, bool]:
    """The column to sort by and whether downwards; an unknown word gives the usual order."""
    column = COLUMNS.get(sort, COLUMNS[DEFAULT])
    if direction in ("ascending", "descending"):
        return column, direction == "descending"
    return column, column.descending


def in_order(rows: Iterable[Standing], column: Column, *, descending: bool) -> list[Standing]:
    """Sort rows; those without a value come last either way, and equal ones keep the order by rank."""
    known: list[Standing] = []
    unknown: list[Standing] = []
    for row in rows:
        (unknown if column.value(row) is None else known).append(row)
    # `known` holds no None any more, and one column's values are of one type.
    return sorted(known, key=column.value, reverse=descending) + unknown  # type: ignore[arg-type]


def headings(column: Column, query: Mapping[str, str], *, descending: bool) -> dict[str, Heading]:
    """Headings by key; `query` is what is shown besides. The sorted one's link turns the order round."""
    made = {}
    for one in COLUMNS.values():
        is_sorted = one is column
        downwards = not descending if is_sorted else one.descending
        order = {"sort": one.key, "direction": "descending" if downwards else "ascending"}
        made[one.key] = Heading(
            key=one.key,
            label=one.label,
            query=f"?{urlencode({**query, **order})}",
            aria_sort=("descending" if descending else "ascending") if is_sorted else "",
            is_number=one.is_number,
        )
    return made


@dataclass(frozen=True, slots=True)
class Mark:
    """One interval in the drawing's units, 0 to WIDTH."""

    left: str
    right: str
    middle: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The values at both ends of the common axis; whole multiples of the scale's step."""

    low: float
    high: float

    @classmethod
    def over(cls, rows: Iterable[Standing], method: Method) -> "Axis | None":
        """The axis that holds every interval; None where no model is rated."""
        step = STEPS[method.scale]
        ends = [end for row in rows for end in _ends(row) if end is not None]
        if not ends:
            return None
        low, high = floor(min(ends) / step) * step, ceil(max(ends) / step) * step
        return cls(low, max(high, low + step))

    def place(self, value: float) -> str:
        """Where a value lies. A string, so that no language's decimal comma gets into an SVG attribute."""
        return f"{EDGE + (value - self.low) / (self.high - self.low) * (WIDTH - 2 * EDGE):.2f}"

    @property
    def centre(self) -> str:
        return self.place(self.middle)

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def labels(self) -> tuple[str, str, str]:
        """Low, middle and high: shares as percent."""
        form = "{:.0%}" if self.high <= 1.5 else "{:.0f}"
        low, middle, high = (form.format(value) for value in (self.low, self.middle, self.high))
        return low, middle, high

    def mark(self, row: Standing) -> Mark | None:
        low, value, high = _ends(row)
        if value is None:
            return None
        left, right = (value if end is None else end for end in (low, high))
        return Mark(self.place(left), self.place(right), self.place(value))


def _ends(row: Standing) -> tuple[float | None, float | None, float | None]:
    return row.place.rating_lower, row.place.rating, row.place.rating_upper
