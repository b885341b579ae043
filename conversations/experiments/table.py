"""An experiment as a table: where its conversations stand, and which have moved on since a reader last looked."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

import msgspec
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from conversations.experiments.plan import Grid, cells, size_of
from conversations.experiments.selectors import kept_while_dear
from conversations.models import Conversation, Experiment, Turn
from conversations.sampling import sampling_words

# What ends is stored a little later than it says.
STORED_WITHIN = timedelta(seconds=5)
STANDS_AT_A_FAILURE = (Conversation.Reason.FAILED, Conversation.Reason.REFUSED)


@dataclass(frozen=True, slots=True)
class Spot:
    """One conversation of an experiment; `place` is that in the table, which all iterations share."""

    id: UUID
    place: int
    state: str
    turns: int


@dataclass(frozen=True, slots=True)
class Place:
    """A pair in a scenario, sampled in one way, with its iterations that have been made."""

    number: int
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class TableRow:
    """One pair, sampled in one way; a place for each scenario, in the order of the table's head."""

    model_a: str
    model_b: str
    sampling: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """As it was at that time."""

    at: datetime
    scenarios: tuple[str, ...]
    rows: tuple[TableRow, ...]


def experiment_table(experiment: Experiment) -> Table:
    """The scenarios, and a row for each pair and sampling."""
    at, grid = timezone.now(), msgspec.convert(experiment.grid, Grid)
    spots: dict[int, list[Spot]] = {}
    for spot in _spots(experiment.conversations.kept(), grid):
        spots.setdefault(spot.place, []).append(spot)
    scenarios = tuple(dict.fromkeys(grid.scenarios))
    table: dict[tuple[str, str, str], dict[str, Place]] = {}
    for cell in islice(cells(grid), _places(grid)):
        row = table.setdefault((cell.model_a, cell.model_b, sampling_words(cell.sampling)), {})
        row[cell.scenario] = Place(cell.number, tuple(spots.get(cell.number, ())))
    rows = (TableRow(*key, tuple(row[one] for one in scenarios)) for key, row in table.items())
    return Table(at, scenarios, tuple(rows))


def experiment_table_shown(experiment: Experiment) -> Table:
    """The same, kept for a while where it is large."""
    return kept_while_dear(f"experiment-table:{experiment.pk}", lambda: experiment_table(experiment))


def spots_moved(experiment: Experiment, *, since: datetime) -> list[Spot]:
    """The conversations that have moved on since then, or shortly before, in the order of the plan."""
    since -= STORED_WITHIN
    spoken = Turn.objects.filter(conversation__experiment=experiment, finished_at__gt=since)
    moved = experiment.conversations.kept().filter(Q(moved_at__gt=since) | Q(pk__in=spoken.values("conversation")))
    return list(_spots(moved, msgspec.convert(experiment.grid, Grid)))


def _places(grid: Grid) -> int:
    return size_of(grid) // grid.iterations


def _spots(conversations: QuerySet[Conversation], grid: Grid) -> Iterator[Spot]:
    done = Count("turns", filter=Q(turns__is_current=True, turns__status=Turn.Status.FINISHED))
    rows = conversations.annotate(done=done).order_by("cell").values_list("pk", "cell", "state", "reason", "done")
    places = _places(grid)
    for pk, cell, state, reason, turns in rows:
        shown = "failed" if reason in STANDS_AT_A_FAILURE else state
        yield Spot(pk, (cell or 0) % places, shown, turns)
