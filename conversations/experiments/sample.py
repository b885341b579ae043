"""The turns that the analyse page looks at. The one place that reads them: whole conversations, all of them where there
are few, else so many drawn at random that the page stays quick."""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast
from uuid import UUID

import msgspec
from django.db.models import F, IntegerField, QuerySet
from django.db.models.functions import Cast, Length

from conversations.experiments.analysing import Fact
from conversations.experiments.plan import Cell, Grid, cells, size_of
from conversations.measures import cosine, diversity, words
from conversations.models import Conversation, Experiment, Side, Turn
from conversations.sampling import SAMPLED, sampling_words, value_words

# What a request may read: a fraction of a second's worth. Counting words takes several times as long as reading rows.
TURNS_READ = 10_000
TEXTS_READ = 4_000
CONVERSATIONS_READ = 2_000
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
# What the database knows of a turn.
COLUMNS: Mapping[str, Any] = {
    "latency_ms": F("latency_ms"), "output_tokens": F("output_tokens"), "length": Length("text"),
    "refusals": Cast("is_refusal", IntegerField()),
}  # fmt: skip
# What is counted in a turn and the one before it in its conversation; None where it cannot be.
Words = list[str]
Row = tuple[UUID, int, int, str, float | None]  # id, place in the plan, number, speaker, measure
COUNTED: Mapping[str, Callable[[Words, Words | None], float | None]] = {
    "diversity": lambda said, before: diversity(said),
    "similarity": lambda said, before: None if before is None else cosine(said, before),
}


@dataclass(frozen=True, slots=True)
class Said:
    """One turn with its measure. `conversation` is the place in the plan, `cell` what stands there."""

    id: UUID
    conversation: int
    cell: Cell
    number: int
    model: str
    value: float

    def group(self, by: str) -> str:
        """What it belongs to."""
        match by:
            case "model":
                return self.model
            case "scenario":
                return self.cell.scenario
            case "pair":
                return f"{self.cell.model_a} · {self.cell.model_b}"
            case "sampling":
                return sampling_words(self.cell.sampling)
            case _ if by in SAMPLED:
                return value_words(getattr(self.cell.sampling, by))
            case "turn":
                return str(self.number)
        raise ValueError(by)


@dataclass(frozen=True, slots=True)
class Sample:
    """The turns of `conversations` conversations of the `of` that fit and have begun."""

    said: tuple[Said, ...]
    conversations: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.conversations == self.of

    def facts(self, by: str) -> list[Fact]:
        """By group, in the order in which people read them."""
        facts = [Fact(one.group(by), one.conversation, one.value) for one in self.said]
        places = {name: at for at, name in enumerate(in_order({fact.group for fact in facts}))}
        return sorted(facts, key=lambda fact: places[fact.group])


def in_order(groups: Iterable[str]) -> list[str]:
    """The names by the alphabet, numbers within them by their size."""

    def parts(name: str) -> list[tuple[bool, float, str]]:
        found = (part for part in NUMBER.split(name) if part)
        return [(False, float(part), "") if NUMBER.fullmatch(part) else (True, 0.0, part) for part in found]

    return sorted(groups, key=parts)


def sample_read(experiment: Experiment, *, measure: str, model: str = "", scenario: str = "") -> Sample:
    """The turns whose `measure` (a key of COLUMNS or COUNTED) is known, of one model or in one scenario where such are
    named. The same conversations each time, until others begin."""
    grid = msgspec.convert(experiment.grid, Grid)
    columns = list(islice(cells(grid), size_of(grid) // grid.iterations))
    begun = experiment.conversations.kept().exclude(state=Conversation.State.READY).order_by("cell")
    there = [
        number
        for number in begun.values_list("cell", flat=True)
        if number is not None and _fits(columns[number % len(columns)], model, scenario)
    ]
    most = min(CONVERSATIONS_READ, max(1, (TEXTS_READ if measure in COUNTED else TURNS_READ) // grid.turns))
    chosen = there if len(there) <= most else sorted(random.Random(experiment.pk.int).sample(there, most))
    turns = Turn.objects.filter(
        conversation__experiment=experiment, is_current=True, status=Turn.Status.FINISHED, number__isnull=False
    )
    turns = turns.filter(conversation__cell__in=chosen)
    read = _counted(turns, measure) if measure in COUNTED else _read(turns, measure)
    said = (_said(row, columns[row[1] % len(columns)]) for row in read if row[4] is not None)
    return Sample(tuple(one for one in said if not model or one.model == model), len(chosen), len(there))


def _fits(cell: Cell, model: str, scenario: str) -> bool:
    return (not model or model in (cell.model_a, cell.model_b)) and (not scenario or scenario == cell.scenario)


def _said(row: Row, cell: Cell) -> Said:
    id_, place, number, speaker, value = row
    return Said(id_, place, cell, number, cell.model_a if speaker == Side.A else cell.model_b, float(value or 0))


def _read(turns: QuerySet[Turn], measure: str) -> Iterable[Row]:
    rows: Iterable[Row] = turns.order_by("conversation__cell", "position").values_list(
        "pk", "conversation__cell", "number", "speaker", COLUMNS[measure]
    )
    return rows


def _counted(turns: QuerySet[Turn], measure: str) -> Iterator[Row]:
    count = COUNTED[measure]
    rows = cast(
        Iterable[tuple[UUID, int, int, str, str]],
        turns.order_by("conversation__cell", "position").values_list(
            "pk", "conversation__cell", "number", "speaker", "text"
        ),
    )
    before: tuple[int, Words] | None = None
    for id_, place, number, speaker, text in rows:
        said = words(text)
        yield id_, place, number, speaker, count(said, before[1] if before and before[0] == place else None)
        before = (place, said)
