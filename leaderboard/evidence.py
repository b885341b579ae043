"""Reads the comparisons of a board: grouped for the fits, one by one for what depends on their order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from math import nan
from typing import Any

import numpy as np
from django.contrib.auth import get_user_model
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    Max,
    Min,
    OuterRef,
    Sum,
    Value,
    When,
)

from leaderboard.boards import WHOLE, Segment, comparisons_of, filtered, own_comparisons_of
from leaderboard.exclusions import exclusions_summary
from leaderboard.models import Board, Comparison, ComparisonQuerySet
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.types import BOTH_BAD, TIE, A, B, Counts, Floats, Integers

CODES: dict[str, int] = {
    Comparison.Outcome.A: A,
    Comparison.Outcome.B: B,
    Comparison.Outcome.TIE: TIE,
    Comparison.Outcome.BOTH_BAD: BOTH_BAD,
}
# What the first model of a comparison gets. Both bad is not a game.
SCORES = {A: 1.0, B: 0.0, TIE: 0.5, BOTH_BAD: nan}
CHUNK_ROWS = 20_000
# How line-ups are marked: one ballot of theirs may hold several comparisons.
LINEUP = "lineup"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All comparisons of a segment that count, grouped by ordered pair and outcome.

    `models` are the ids behind the indices, ascending. first, second, outcome, number, weight: (m,), a row a group;
    `first` was shown first.
    """

    models: list[int]
    first: Integers
    second: Integers
    outcome: Integers
    number: Floats
    weight: Floats
    square: Floats
    comparisons: int
    last_id: int
    id_sum: int

    @property
    def counts(self) -> Counts:
        return Counts.of(
            len(self.models),
            self.first,
            self.second,
            self.outcome,
            number=self.number,
            weight=self.weight,
            square=self.square,
        )

    @property
    def is_unweighted(self) -> bool:
        """Whether every weight is 1: only then are number, sum and sum of squares equal."""
        return bool(np.array_equal(self.number, self.weight) and np.array_equal(self.number, self.square))

    @property
    def grouped(self) -> Ballots:
        """The groups as rows for a fit that asks who was shown first; `number` goes with them."""
        groups = np.arange(len(self.first))
        mean_weight = self.weight / self.number
        return Ballots.of(len(self.models), groups, self.first, self.second, self.outcome, weight=mean_weight)

    @property
    def watermark(self) -> list[int]:
        """What tells this evidence from any other: number, last id and sum of the ids."""
        return [self.comparisons, self.last_id, self.id_sum]


_nobody = np.zeros(0, dtype=np.int64)
NOTHING = Evidence(
    [], _nobody, _nobody, _nobody, _nobody.astype(float), _nobody.astype(float), _nobody.astype(float), 0, 0, 0
)


def read_evidence(board: Board) -> dict[Segment, Evidence]:
    """All segments of a board, the whole one first, with one GROUP BY, which an index answers for most boards.

    A category or a language has a segment once it has as many comparisons as a model needs there.
    """
    table, category, language = _read(comparisons_of(board))
    segments = {WHOLE: table.evidence(np.ones(len(category), dtype=np.bool_))}
    for name, values in (("category", category), ("language", language)):
        found = np.array(values, dtype=object)
        for value in sorted(set(values) - {""}):
            chosen = found == value
            if table.number[chosen].sum() >= board.minimum_comparisons:
                segments[Segment(**{name: value})] = table.evidence(chosen)
    return segments


def read_evidence_of(board: Board, person_id: int) -> Evidence:
    """One person's comparisons on a board."""
    table, category, _ = _read(own_comparisons_of(board, person_id))
    return table.evidence(np.ones(len(category), dtype=np.bool_))


def _read(comparisons: ComparisonQuerySet) -> "tuple[_Table, Sequence[str], Sequence[str]]":
    """The groups, and the category and the language of each."""
    groups = (
        comparisons.order_by()
        .values_list("model_a_id", "model_b_id", "outcome", "category", "language")
        .annotate(
            number=Count("id"),
            total=Sum("weight"),
            squares=Sum(F("weight") * F("weight")),
            last=Max("id"),
            ids=Sum("id"),
        )
    )
    rows = list(groups.iterator(chunk_size=CHUNK_ROWS))
    first, second, outcome, category, language, *figures = zip(*rows, strict=True) if rows else [()] * 10
    kinds = [CODES[kind] for kind in outcome]
    return _Table(*(_column(values) for values in (first, second, kinds, *figures))), category, language


def _column(values: Sequence[float]) -> Any:
    """Whole numbers stay whole: sums of ids may be more than a float can hold."""
    return np.array(values, dtype=np.float64 if any(isinstance(value, float) for value in values) else np.int64)


@dataclass(frozen=True, slots=True)
class _Table:
    """The groups as read; ids of models, not indices."""

    first: Integers
    second: Integers
    outcome: Integers
    number: Integers
    weight: Floats
    square: Floats
    last: Integers
    ids: Integers

    def evidence(self, chosen: "np.ndarray[Any, np.dtype[np.bool_]]") -> Evidence:
        """The chosen groups; those that differ in nothing but the segment become one."""
        first, second, outcome = self.first[chosen], self.second[chosen], self.outcome[chosen]
        models = np.unique(np.concatenate((first, second)))
        i, j = np.searchsorted(models, first), np.searchsorted(models, second)
        n = max(len(models), 1)
        cells, place = np.unique((i * n + j) * len(CODES) + outcome, return_inverse=True)

        def summed(values: "np.ndarray[Any, Any]") -> Floats:
            return np.bincount(place, weights=values[chosen], minlength=len(cells)).astype(np.float64)

        pairs, kinds = np.divmod(cells, len(CODES))
        one, other = np.divmod(pairs, n)
        return Evidence(
            models.tolist(), one, other, kinds, summed(self.number), summed(self.weight), summed(self.square),
            int(self.number[chosen].sum()), int(self.last[chosen].max(initial=0)), sum(self.ids[chosen].tolist()),
        )  # fmt: skip


def read_circumstances(board: Board, segment: Segment) -> tuple[int, datetime | None, datetime | None]:
    """How many voted, and when first and last. For people a look into an index for each; other judges are counted by
    their names."""
    rows = comparisons_of(board, segment).order_by()
    voters = get_user_model().objects.filter(Exists(rows.filter(voter=OuterRef("pk")))).count()
    if board.sources != [Board.Source.PEOPLE]:
        voters += rows.exclude(judge="").aggregate(judges=Count("judge", distinct=True))["judges"]
    first = rows.aggregate(at=Min("created_at"))["at"]
    last = rows.aggregate(at=Max("created_at"))["at"]
    return voters, first, last


def read_left_out(board: Board, segment: Segment) -> dict[str, int]:
    """How many comparisons do not count, by the reason."""
    rows = filtered(Comparison.objects.all(), board).filter(**segment.filters)
    return {left_out.reason: left_out.count for left_out in exclusions_summary(rows)}


def read_ballots(board: Board, segment: Segment, models: Sequence[int]) -> Ballots | None:
    """The comparisons that are not independent of each other, those of one line-up; None where there are none."""
    rows = list(
        comparisons_of(board, segment)
        .filter(mode=LINEUP)
        .order_by("id")
        .values_list("source_id", "model_a_id", "model_b_id", "outcome", "weight")
        .iterator(chunk_size=CHUNK_ROWS)
    )
    position = {model: index for index, model in enumerate(models)}
    # A line-up that has come since the comparisons were counted may have a new model; the next snapshot has it.
    rows = [row for row in rows if row[1] in position and row[2] in position]
    if not rows:
        return None
    ballot, first, second, outcome, weight = zip(*rows, strict=True)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(ballot))}
    return Ballots.of(
        len(models),
        [numbers[name] for name in ballot],
        [position[model] for model in first],
        [position[model] for model in second],
        [CODES[kind] for kind in outcome],
        weight=weight,
    )


def games_between(board: Board, segment: Segment, after: int, until: int) -> ComparisonQuerySet:
    return comparisons_of(board, segment).filter(id__gt=after, id__lte=until).order_by()


def read_games(
    board: Board, segment: Segment, evidence: Evidence, *, after: int
) -> Iterable[tuple[int, int, float, float]]:
    """The games with after < id <= evidence.last_id, in their order, as `elo` plays them.

    Two million rows are worth some care: the database packs each into one integer, which NumPy takes apart again.
    Weights are read only where there are others than 1.
    """
    models = np.array(evidence.models, dtype=np.int64)
    base = int(models.max(initial=0)) + 1
    kind = Case(*(When(outcome=outcome, then=Value(code)) for outcome, code in CODES.items()), default=Value(BOTH_BAD))
    packed = ExpressionWrapper(
        (F("model_a_id") * base + F("model_b_id")) * len(CODES) + kind, output_field=BigIntegerField()
    )
    weights = [] if evidence.is_unweighted else ["weight"]
    rows = (
        games_between(board, segment, after, evidence.last_id)
        .order_by("id")
        .annotate(packed=packed)
        .values_list("packed", *weights)
        .iterator(chunk_size=CHUNK_ROWS)
    )
    table = np.fromiter(chain.from_iterable(rows), np.float64 if weights else np.int64).reshape(-1, 1 + len(weights))
    pairs, outcome = np.divmod(table[:, 0].astype(np.int64), len(CODES))
    first, second = np.divmod(pairs, base)
    # A vote on a new model may have been committed since the comparisons were counted; the next snapshot has it.
    played = (outcome != BOTH_BAD) & np.isin(first, models) & np.isin(second, models)
    score = np.array([SCORES[code] for code in range(len(CODES))])[outcome[played]]
    weight = table[played, 1] if weights else np.ones(len(score))
    columns = (np.searchsorted(models, first[played]), np.searchsorted(models, second[played]), score, weight)
    return zip(*(column.tolist() for column in columns), strict=True)
