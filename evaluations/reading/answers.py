"""Which questions are worth reading: those that a filter keeps, with what each model got. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Cells = Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]]
ORDERS = ("number", "gap", "apart", "lowest")


@dataclass(frozen=True, kw_only=True)
class Filter:
    """What to keep. `gap` is between the best and the worst of the models, `apart` between the means of the judges of
    one answer (1 where they name different winners), `below` a score that a model stays under."""

    models: tuple[str, ...]
    category: str = ""
    turn: int | None = None
    gap: float | None = None
    apart: float | None = None
    below: float | None = None
    failed: bool = False
    order: str = "number"


@dataclass(frozen=True)
class Row:
    """One question: what each model got, None where there is no score."""

    number: int
    category: str
    scores: tuple[float | None, ...]
    gap: float | None
    apart: float
    has_failed: bool

    @property
    def lowest(self) -> float:
        return min((score for score in self.scores if score is not None), default=float("inf"))


def rows(cells: Cells, questions: Iterable[tuple[int, str]], wanted: Filter) -> list[Row]:
    """The questions, given as (number, category), that the filter keeps, in the order that it names."""
    found = [_row(cells, number, category, wanted) for number, category in questions]
    kept = [row for row in found if _keeps(row, wanted)]
    keys = {
        "gap": lambda row: (-(row.gap or 0.0), row.number),
        "apart": lambda row: (-row.apart, row.number),
        "lowest": lambda row: (row.lowest, row.number),
    }
    return sorted(kept, key=keys[wanted.order]) if wanted.order in keys else kept


def _row(cells: Cells, number: int, category: str, wanted: Filter) -> Row:
    scores, apart, has_failed = [], 0.0, False
    for model in wanted.models:
        turns = cells.get(model, {}).get(str(number), {})
        chosen = [cell for turn, cell in turns.items() if wanted.turn is None or int(turn) == wanted.turn]
        means = [cell[0] for cell in chosen if cell[0] is not None]
        scores.append(sum(means) / len(means) if means else None)
        apart = max([apart, *(cell[1] for cell in chosen)])
        has_failed = has_failed or any(cell[2] for cell in chosen)
    known = [score for score in scores if score is not None]
    gap = max(known) - min(known) if len(known) > 1 else None
    return Row(number, category, tuple(scores), gap, apart, has_failed)


def _keeps(row: Row, wanted: Filter) -> bool:
    return (
        (not wanted.category or row.category == wanted.category)
        and (wanted.gap is None or (row.gap or 0.0) >= wanted.gap)
        and (wanted.apart is None or row.apart >= wanted.apart)
        and (wanted.below is None or row.lowest < wanted.below)
        and (not wanted.failed or row.has_failed)
    )
