"""Makes snapshots: reads the comparisons, asks the statistics, has the answers stored. Called through the services."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Count, Max, Sum

from common.stopping import is_stopping
from leaderboard.boards import Segment
from leaderboard.evidence import (
    NOTHING,
    Evidence,
    games_between,
    read_ballots,
    read_circumstances,
    read_evidence,
    read_games,
    read_left_out,
)
from leaderboard.extras import extras_are_due, extras_of
from leaderboard.models import Board, Rating, Snapshot
from leaderboard.saving import snapshot_save
from leaderboard.standing import Numbers, placed, value_of
from leaderboard.statistics import bradley_terry, elo
from leaderboard.statistics.types import BASE, MEAN, SCALE, BradleyTerry
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
    "ranks": "simultaneous",
    "elo_k": elo.K,
    "elo_initial": MEAN,
}

# How often a rebuild starts over because others were faster; each time one of them has made progress.
ATTEMPTS = 5


def boards_rebuild() -> list[Snapshot]:
    """Make a snapshot of each segment of each board where anything has changed since the last one, or of as many as a
    process that is being ended has time for."""
    return [snapshot for board in Board.objects.all() for snapshot in board_rebuild(board)]


def board_rebuild(board: Board) -> list[Snapshot]:
    """Make the snapshots of one board.

    Reads without a transaction, so that votes are not held up meanwhile, and writes in short ones. Whoever finds then
    that another rebuild has saved in between starts over: perhaps the other has read votes that this one has not.
    """
    made: list[Snapshot] = []
    for attempt in range(1, ATTEMPTS + 1):
        previous = newest_of(board)
        is_late = False
        # A segment that has lost its votes gets an empty snapshot.
        segments = dict.fromkeys(previous, NOTHING) | read_evidence(board)
        for segment, evidence in segments.items():
            before = previous.get(segment)
            if is_stopping():
                return made
            if is_covered(evidence, before):
                continue
            snapshot, rows = snapshot_of(board, segment, evidence, before)
            if snapshot_save(snapshot, rows, previous=before, is_last_attempt=attempt == ATTEMPTS):
                made.append(snapshot)
            else:
                is_late = True
        if not is_late:
            break
    return made


def newest_of(board: Board) -> dict[Segment, Snapshot]:
    """The newest snapshot of each segment, without the table of pairs."""
    newest = Snapshot.objects.filter(board=board, person=None).order_by().values("category", "language")
    ids = newest.annotate(newest=Max("id")).values_list("newest", flat=True)
    rows = Snapshot.objects.filter(pk__in=list(ids)).defer("pairs")
    return {Segment(row.category, row.language): row for row in rows}


def is_covered(evidence: Evidence, newest: Snapshot | None) -> bool:
    """Whether a snapshot of this evidence would say what the newest one says."""
    if newest is None:
        return not evidence.comparisons
    return (
        [newest.comparisons, newest.last_comparison_id, newest.id_sum] == evidence.watermark
        and newest.parameters == PARAMETERS
        and newest.code_version == settings.VERSION
        and not extras_are_due(newest, evidence)
    )


def snapshot_of(
    board: Board, segment: Segment, evidence: Evidence, previous: Snapshot | None
) -> tuple[Snapshot, list[Rating]]:
    """A snapshot that is not saved yet, and its rows."""
    started = perf_counter()
    online = play(board, segment, evidence, previous)
    voters, first_at, last_at = read_circumstances(board, segment)
    ballots = read_ballots(board, segment, evidence.models)
    fitted = bradley_terry.fit(evidence.counts, ballots=ballots)
    snapshot = Snapshot(
        board=board,
        category=segment.category,
        language=segment.language,
        parameters=PARAMETERS,
        fit=told(fitted),
        pairs=pairs_of(evidence),
        extras=extras_of(board, segment, evidence, fitted, ballots, previous),
        left_out=read_left_out(board, segment),
        comparisons=evidence.comparisons,
        voters=voters,
        first_at=first_at,
        last_at=last_at,
        last_comparison_id=evidence.last_id,
        id_sum=evidence.id_sum,
        code_version=settings.VERSION,
    )
    rows = judge(evidence, fitted, online, snapshot)
    snapshot.seconds = perf_counter() - started
    return snapshot, rows


def play(board: Board, segment: Segment, evidence: Evidence, previous: Snapshot | None) -> Sequence[float]:
    """Online Elo of `evidence.models`: carried on from the last snapshot while the votes in it still stand.

    They stand if the old ones and the new ones are together what was just read, in number and in the sum of their ids.
    A vote that was left out since, or that was committed late with a lower id, breaks that, and all games are played
    again in order.
    """
    ratings = elo.beginners(len(evidence.models))
    if previous is not None and previous.parameters == PARAMETERS:
        after = previous.last_comparison_id
        new = games_between(board, segment, after, evidence.last_id).aggregate(
            number=Count("id"), ids=Sum("id", default=0)
        )
        if (previous.comparisons + new["number"], previous.id_sum + new["ids"]) == (
            evidence.comparisons,
            evidence.id_sum,
        ):
            position = {model: index for index, model in enumerate(evidence.models)}
            for model, rating in previous.ratings.values_list("model_id", "elo"):
                if model in position and rating is not None:
                    ratings[position[model]] = rating
            return elo.elo(read_games(board, segment, evidence, after=after), ratings).ratings
    return elo.elo(read_games(board, segment, evidence, after=0), ratings).ratings


def told(fitted: BradleyTerry) -> dict[str, Any]:
    """How the fit went, for the snapshot."""
    return {
        "solver": fitted.solver,
        "iterations": fitted.iterations,
        "tolerance": fitted.tolerance,
        "log_likelihood": fitted.log_likelihood,
        "log_likelihood_per_comparison": fitted.log_likelihood_per_comparison,
        "is_regularised": fitted.is_regularised,
        "models_rated": int(fitted.rated.sum()),
    }


def judge(evidence: Evidence, fitted: BradleyTerry, online: Sequence[float], snapshot: Snapshot) -> list[Rating]:
    """The rows of a snapshot that is not saved yet."""
    counts = evidence.counts
    places = placed(Numbers(fitted.ratings, fitted.lower, fitted.upper, fitted.covariance))
    rates = win_rate(counts)
    number = counts.number
    wins, losses = number.wins.sum(axis=1), number.wins.sum(axis=0)
    ties, both_bad = number.ties.sum(axis=1), number.both_bad.sum(axis=1)
    return [
        Rating(
            snapshot=snapshot,
            model_id=model,
            rank=place.rank,
            rank_lower=place.rank_lower,
            rank_upper=place.rank_upper,
            tier=place.tier,
            rating=place.rating,
            rating_lower=place.rating_lower,
            rating_upper=place.rating_upper,
            group=int(fitted.group[index]),
            is_one_sided=bool(fitted.one_sided[index]),
            elo=online[index],
            wins=int(wins[index]),
            losses=int(losses[index]),
            ties=int(ties[index]),
            both_bad=int(both_bad[index]),
            comparisons=int(wins[index] + losses[index] + ties[index] + both_bad[index]),
            win_rate=value_of(rates.rate, index),
            win_rate_lower=value_of(rates.lower, index),
            win_rate_upper=value_of(rates.upper, index),
        )
        for index, (model, place) in enumerate(zip(evidence.models, places, strict=True))
    ]


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
