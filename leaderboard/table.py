"""The leaderboard as the page shows it: sorted rows, and intervals drawn on one common axis."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil, floor

from django.utils.translation import gettext_lazy as _

from leaderboard.models import Rating

# The drawing's own units; the page scales it.
WIDTH, EDGE = 200.0, 6.0
TICK_POINTS = 50


@dataclass(frozen=True, slots=True)
class Column:
    """A column that can be sorted by. Where `descending`, the first click shows the highest value first."""

    key: str
    label: object
    value: Callable[[Rating], float | str | None]
    descending: bool = True
    is_number: bool = True


COLUMNS = {
    column.key: column
    for column in (
        Column("rank", _("Rank"), lambda row: row.rank, descending=False),
        Column("model", _("Model"), lambda row: row.model.name.casefold(), descending=False, is_number=False),
        Column("rating", _("Rating"), lambda row: row.rating),
        Column("elo", _("Elo"), lambda row: row.elo),
        Column("win_rate", _("Win rate"), lambda row: row.win_rate),
        Column("wins", _("Wins / losses / ties"), lambda row: row.wins),
        Column("both_bad", _("Both bad"), lambda row: row.both_bad_rate),
        Column("comparisons", _("Votes"), lambda row: row.comparisons),
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


def in_order(rows: Iterable[Rating], column: Column, *, descending: bool) -> list[Rating]:
    """Sort rows; those without a value come last either way, and equal ones keep the order by rank."""
    known: list[Rating] = []
    unknown: list[Rating] = []
    for row in rows:
        (unknown if column.value(row) is None else known).append(row)
    # `known` holds no None any more, and one column's values are of one type.
    return sorted(known, key=column.value, reverse=descending) + unknown  # type: ignore[arg-type]


def headings(column: Column, *, descending: bool) -> dict[str, Heading]:
    """Headings by key. The sorted one's link turns the order round."""
    made = {}
    for one in COLUMNS.values():
        is_sorted = one is column
        downwards = not descending if is_sorted else one.descending
        made[one.key] = Heading(
            key=one.key,
            label=one.label,
            query=f"?sort={one.key}&direction={'descending' if downwards else 'ascending'}",
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
    """The points at both ends of the common axis; whole multiples of TICK_POINTS."""

    low: int
    high: int

    @classmethod
    def over(cls, rows: Iterable[Rating]) -> "Axis | None":
        """The axis that holds every interval; None where no model is rated."""
        ends = [
            (row.rating_lower, row.rating_upper)
            for row in rows
            if row.rating_lower is not None and row.rating_upper is not None
        ]
        if not ends:
            return None
        low = floor(min(low for low, _ in ends) / TICK_POINTS) * TICK_POINTS
        high = ceil(max(high for _, high in ends) / TICK_POINTS) * TICK_POINTS
        return cls(low, max(high, low + TICK_POINTS))

    def place(self, points: float) -> str:
        """Where `points` lie. A string, so that no language's decimal comma gets into an SVG attribute."""
        return f"{EDGE + (points - self.low) / (self.high - self.low) * (WIDTH - 2 * EDGE):.2f}"

    @property
    def centre(self) -> str:
        return self.place((self.low + self.high) / 2)

    @property
    def middle(self) -> int:
        return (self.low + self.high) // 2

    def mark(self, row: Rating) -> Mark | None:
        if row.rating is None or row.rating_lower is None or row.rating_upper is None:
            return None
        return Mark(self.place(row.rating_lower), self.place(row.rating_upper), self.place(row.rating))
