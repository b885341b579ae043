"""Makes a snapshot: reads the comparisons, asks the statistics, has the answer stored. Called through the services."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from math import nan
from time import perf_counter
from typing import Any

import numpy as np
from django.conf import settings
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

from leaderboard.models import Comparison, ComparisonQuerySet, Rating, Snapshot
from leaderboard.saving import snapshot_save
from leaderboard.statistics import bradley_terry, elo
from leaderboard.statistics.ranks import ranks
from leaderboard.statistics.types import BASE, BOTH_BAD, MEAN, SCALE, TIE, A, B, Counts, Floats
from leaderboard.statistics.win_rate import win_rate

# Written into every snapshot; a change of any of them makes the next rebuild start from the first vote.
PARAMETERS: dict[str, Any] = {
    "method": "bradley_terry",
    "ties": "half a win",
    "both_bad": "left out",
    "scale": SCALE,
    "base": BASE,
    "mean": MEAN,
    "interval": 0.95,
    "elo_k": elo.K,
    "elo_initial": MEAN,
}
CODES: dict[str, int] = {
    Comparison.Outcome.A: A,
    Comparison.Outcome.B: B,
    Comparison.Outcome.TIE: TIE,
    Comparison.Outcome.BOTH_BAD: BOTH_BAD,
}
# What the first model of a comparison gets. Both bad is not a game.
SCORES = {A: 1.0, B: 0.0, TIE: 0.5, BOTH_BAD: nan}

CHUNK_ROWS = 20_000

# How often a rebuild starts over because others were faster; each time one of them has made progress.
ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Evidence:
    """All comparisons that count, grouped. `models` are the ids behind the indices of `counts`, ascending."""

    models: list[int]
    counts: Counts
    comparisons: int
    last_id: int
    id_sum: int

    @property
    def is_unweighted(self) -> bool:
        """Whether every weight is 1: only then are number, sum and sum of squares equal."""
        number, weight, square = self.counts.number, self.counts.weight, self.counts.square
        return all(
            np.array_equal(getattr(number, name), getattr(other, name))
            for other in (weight, square)
            for name in ("wins", "ties", "both_bad")
        )


def snapshot_rebuild() -> Snapshot | None:
    """Make a snapshot of all blind comparisons that count; None where nothing has changed since the last one.

    Reads without a transaction, so that votes are not held up meanwhile, and writes in a short one. Whoever finds then
    that another rebuild has saved in between starts over: perhaps the other has read votes that this one has not.
    """
    for attempt in range(1, ATTEMPTS + 1):
        started = perf_counter()
        previous = Snapshot.objects.defer("pairs").order_by("-id").first()
        evidence = read_evidence()
        if is_covered(evidence, previous):
            return None
        online = play(evidence, previous)
        voters, first_at, last_at = read_circumstances()
        snapshot = Snapshot(
            parameters=PARAMETERS,
            pairs=pairs_of(evidence),
            comparisons=evidence.comparisons,
            voters=voters,
            first_at=first_at,
            last_at=last_at,
            last_comparison_id=evidence.last_id,
            id_sum=evidence.id_sum,
            code_version=settings.VERSION,
        )
        rows = judge(evidence, online, snapshot)
        snapshot.seconds = perf_counter() - started
        if snapshot_save(snapshot, rows, previous=previous, is_last_attempt=attempt == ATTEMPTS):
            return snapshot
    return None


def is_covered(evidence: Evidence, newest: Snapshot | None) -> bool:
    """Whether a snapshot of this evidence would say what the newest one says."""
    if newest is None:
        return not evidence.comparisons
    return (
        (newest.comparisons, newest.id_sum, newest.last_comparison_id)
        == (evidence.comparisons, evidence.id_sum, evidence.last_id)
        and newest.parameters == PARAMETERS
        and newest.code_version == settings.VERSION
    )


def read_evidence() -> Evidence:
    """One GROUP BY, answered from the index `comparison_counts`."""
    groups = (
        Comparison.objects.rating()
        .order_by()
        .values_list("model_a_id", "model_b_id", "outcome")
        .annotate(
            number=Count("id"),
            total=Sum("weight"),
            squares=Sum(F("weight") * F("weight")),
            last=Max("id"),
            ids=Sum("id"),
        )
    )
    rows = list(groups.iterator(chunk_size=CHUNK_ROWS))
    if not rows:
        return Evidence([], Counts.of(0, [], [], []), 0, 0, 0)
    first, second, outcome, number, weight, square, last, ids = zip(*rows, strict=True)
    models, indices = np.unique(np.array([first, second], dtype=np.int64), return_inverse=True)
    indices = indices.reshape(2, -1)
    counts = Counts.of(
        len(models),
        indices[0],
        indices[1],
        [CODES[kind] for kind in outcome],
        number=number,
        weight=weight,
        square=square,
    )
    return Evidence(models.tolist(), counts, sum(number), max(last), int(sum(ids)))


def play(evidence: Evidence, previous: Snapshot | None) -> Sequence[float]:
    """Online Elo of `evidence.models`: carried on from the last snapshot while the votes in it still stand.

    They stand if the old ones and the new ones are together what was just read, in number and in the sum of their ids.
    A vote that was left out since, or that was committed late with a lower id, breaks that, and all games are played
    again in order.
    """
    ratings = elo.beginners(len(evidence.models))
    if previous is not None and previous.parameters == PARAMETERS:
        after = previous.last_comparison_id
        new = games_between(after, evidence.last_id).aggregate(number=Count("id"), ids=Sum("id", default=0))
        if (previous.comparisons + new["number"], previous.id_sum + new["ids"]) == (
            evidence.comparisons,
            evidence.id_sum,
        ):
            position = {model: index for index, model in enumerate(evidence.models)}
            for model, rating in previous.ratings.values_list("model_id", "elo"):
                if model in position:
                    ratings[position[model]] = rating
            return elo.elo(read_games(evidence, after=after), ratings).ratings
    return elo.elo(read_games(evidence, after=0), ratings).ratings


def games_between(after: int, until: int) -> ComparisonQuerySet:
    return Comparison.objects.rating().filter(id__gt=after, id__lte=until).order_by()


def read_games(evidence: Evidence, *, after: int) -> Iterable[tuple[int, int, float, float]]:
    """The games with after < id <= evidence.last_id, in their order.

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
        games_between(after, evidence.last_id)
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


def read_circumstances() -> tuple[int, datetime | None, datetime | None]:
    """How many people voted, and when first and last: a look into an index for each person and each end."""
    rating = Comparison.objects.rating().order_by()
    voters = get_user_model().objects.filter(Exists(rating.filter(voter=OuterRef("pk")))).count()
    first = rating.aggregate(at=Min("created_at"))["at"]
    last = rating.aggregate(at=Max("created_at"))["at"]
    return voters, first, last


def judge(evidence: Evidence, online: Sequence[float], snapshot: Snapshot) -> list[Rating]:
    """The rows of a snapshot that is not saved yet; also notes in it how the fit went."""
    counts = evidence.counts
    fitted = bradley_terry.fit(counts)
    places = ranks(fitted.ratings, fitted.lower, fitted.upper)
    rates = win_rate(counts)
    snapshot.fit = {
        "solver": fitted.solver,
        "iterations": fitted.iterations,
        "tolerance": fitted.tolerance,
        "log_likelihood": fitted.log_likelihood,
        "log_likelihood_per_comparison": fitted.log_likelihood_per_comparison,
        "is_regularised": fitted.is_regularised,
        "models_rated": int(fitted.rated.sum()),
    }
    number = counts.number
    wins, losses = number.wins.sum(axis=1), number.wins.sum(axis=0)
    ties, both_bad = number.ties.sum(axis=1), number.both_bad.sum(axis=1)
    return [
        Rating(
            snapshot=snapshot,
            model_id=model,
            rank=int(places.rank[index]) or None,
            rank_lower=int(places.lower[index]) or None,
            rank_upper=int(places.upper[index]) or None,
            rating=_or_none(fitted.ratings, index),
            rating_lower=_or_none(fitted.lower, index),
            rating_upper=_or_none(fitted.upper, index),
            elo=online[index],
            wins=int(wins[index]),
            losses=int(losses[index]),
            ties=int(ties[index]),
            both_bad=int(both_bad[index]),
            comparisons=int(wins[index] + losses[index] + ties[index] + both_bad[index]),
            win_rate=_or_none(rates.rate, index),
        )
        for index, model in enumerate(evidence.models)
    ]


def _or_none(values: Floats, index: int) -> float | None:
    value = float(values[index])
    return None if np.isnan(value) else value


def pairs_of(evidence: Evidence) -> list[list[int]]:
    """Every pair that met, as [model, model, wins of the first, wins of the second, ties, both bad]."""
    number = evidence.counts.number
    met = np.triu(number.wins + number.wins.T + number.ties + number.both_bad)
    first, second = np.nonzero(met)
    models = np.array(evidence.models, dtype=np.int64)
    columns = (
        models[first],
        models[second],
        number.wins[first, second],
        number.wins[second, first],
        number.ties[first, second],
        number.both_bad[first, second],
    )
    table: list[list[int]] = np.column_stack([column.astype(np.int64) for column in columns]).tolist()
    return table
