"""What a snapshot says beside its ratings: other methods, effects, history. They cost more than the ratings, so they
are made anew only as often as their cost allows, and each says when that was."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

import numpy as np
from django.utils import timezone

from leaderboard.boards import Segment, comparisons_of
from leaderboard.evidence import CHUNK_ROWS, CODES, Evidence
from leaderboard.history import history_of
from leaderboard.models import Board, Snapshot
from leaderboard.neighbours import neighbours_of
from leaderboard.standing import Numbers, placed
from leaderboard.statistics import covariates, davidson, plackett_luce
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.bootstrap import bootstrap
from leaderboard.statistics.position import position_effect
from leaderboard.statistics.rankings import MAX_TIED, UNPLACED, Rankings
from leaderboard.statistics.types import BOTH_BAD, TIE, BradleyTerry, Integers, WinRate
from leaderboard.statistics.win_rate import average_win_rate

# Of a worker's time, at most one part in so many goes into them.
SHARE = 20
VERSION = 1
ROUNDS = 1000
SEED = 20_260_101
STYLE = ("style_length", "style_headers", "style_bold", "style_lists")

BEGINNING = "1970-01-01T00:00:00+00:00"

Extras = dict[str, Any]


def extras_are_due(newest: Snapshot, evidence: Evidence) -> bool:
    """Whether the newest snapshot's extras are of older votes, or of older code, and may be made anew by now."""
    if newest.extras.get("version") != VERSION:
        return bool(evidence.comparisons)
    wait = extras_wait(newest)
    return wait is not None and wait <= 0


def extras_wait(snapshot: Snapshot) -> float | None:
    """In how many seconds the extras may be made anew; None where they are of the same votes as the ratings."""
    extras = snapshot.extras
    if not extras or extras["watermark"] == [snapshot.comparisons, snapshot.last_comparison_id, snapshot.id_sum]:
        return None
    since = datetime.fromisoformat(extras.get("computed_at", BEGINNING))
    return SHARE * float(extras.get("seconds", 0)) - (timezone.now() - since).total_seconds()


def extras_of(
    board: Board,
    segment: Segment,
    evidence: Evidence,
    fitted: BradleyTerry,
    ballots: Ballots | None,
    previous: Snapshot | None,
) -> Extras:
    """Those of the evidence; those of the snapshot before where it is too early to make them anew."""
    if not fitted.rated.any():
        return {"version": VERSION, "watermark": evidence.watermark}
    if previous is not None and previous.extras.get("version") == VERSION and _is_early(previous.extras):
        return dict(previous.extras)
    started = perf_counter()
    methods = {
        "bootstrap": lambda: _bootstrap(evidence, fitted, ballots),
        "davidson": lambda: _davidson(evidence),
        "average_win_rate": lambda: _average_win_rate(evidence),
        "plackett_luce": lambda: _plackett_luce(evidence, ballots),
        "style_control": lambda: _style_control(board, segment, evidence),
    }
    made: Extras = {
        "methods": {name: found for name, method in methods.items() if (found := _or_nothing(method))},
        "position": _or_nothing(lambda: _position(evidence, ballots)),
        "history": history_of(board, segment, evidence.models),
        "neighbours": neighbours_of(board, segment, evidence.models, fitted),
    }
    return made | {
        "version": VERSION,
        "watermark": evidence.watermark,
        "computed_at": timezone.now().isoformat(),
        "seconds": perf_counter() - started,
    }


def _is_early(extras: Extras) -> bool:
    since = datetime.fromisoformat(extras.get("computed_at", BEGINNING))
    return timezone.now() - since < timedelta(seconds=SHARE * extras.get("seconds", 0))


def _or_nothing(make: Callable[[], Extras | None]) -> Extras | None:
    """A method that has no answer for these votes says nothing; the ratings stand without it."""
    try:
        return make()
    except ArithmeticError:
        return None


def _rows(models: Sequence[int], numbers: Numbers, **more: Any) -> Extras:
    """A method's places by the id of the model, as JSON holds them."""
    places = placed(numbers)
    return {"rows": {str(model): place.packed() for model, place in zip(models, places, strict=True)}, **more}


def _bootstrap(evidence: Evidence, fitted: BradleyTerry, ballots: Ballots | None) -> Extras:
    made = bootstrap(evidence.counts, fitted, seed=SEED, rounds=ROUNDS, ballots=ballots)
    found = _rows(evidence.models, Numbers(fitted.ratings, made.lower, made.upper))
    return found | {"rounds": made.rounds, "seed": made.seed, "regularised": made.regularised}


def _davidson(evidence: Evidence) -> Extras:
    made = davidson.fit(evidence.counts)
    numbers = Numbers(made.ratings, made.lower, made.upper, made.covariance)
    tie = [None if np.isnan(value) else float(value) for value in (made.tie, made.tie_lower, made.tie_upper)]
    return _rows(evidence.models, numbers, tie=tie, tie_rate=float(made.tie_rate))


def _average_win_rate(evidence: Evidence) -> Extras:
    made: WinRate = average_win_rate(evidence.counts)
    return _rows(evidence.models, Numbers(made.rate, made.lower, made.upper))


def _plackett_luce(evidence: Evidence, ballots: Ballots | None) -> Extras | None:
    """Rankings are put together again from the pairs of their ballots; every other comparison is a ranking of two.
    A ranking in which more than `MAX_TIED` are tied is left out: its orders are too many. None without a
    ranking: it would be Bradley-Terry again."""
    if ballots is None:
        return None
    ranking, model, place = _within_reach(*rankings_of(ballots))
    if not len(ranking):
        return None
    alone = evidence.counts.number
    whole = ballots.counts().number
    rows, numbers = [np.column_stack((ranking, model, place))], [np.ones(ballots.clusters)]
    for won, is_tie in ((alone.wins - whole.wins, False), (np.triu(alone.ties - whole.ties), True)):
        first, second = np.nonzero(won > 0)
        after = sum(map(len, numbers)) + np.arange(len(first))
        rows.append(np.column_stack((after, first, np.zeros_like(first))))
        rows.append(np.column_stack((after, second, np.full_like(first, 0 if is_tie else 1))))
        numbers.append(won[first, second])
    table, number = np.concatenate(rows), np.concatenate(numbers)
    known = np.unique(table[:, 0])  # a ballot of nothing but both bad says nothing
    made = plackett_luce.fit(Rankings.of(len(evidence.models), *table.T, number=number[known]))
    numbers_of = Numbers(made.ratings, made.lower, made.upper, made.covariance)
    return _rows(evidence.models, numbers_of, rankings=made.rankings)


def rankings_of(ballots: Ballots) -> tuple[Integers, Integers, Integers]:
    """Columns (ranking, model, place) of rankings from all pairs of each; place 0 is the best.

    A model's place is how many of its ballot beat it. The pairs of a bare winner give the winner place 0 and the
    others 1 each, which `Rankings` reads as a tie among those; so they are given as one choice, unplaced.
    """
    told = ballots.outcome != BOTH_BAD
    cluster, first, second = ballots.cluster[told], ballots.first[told], ballots.second[told]
    outcome = ballots.outcome[told]
    keys, places = np.unique(
        np.concatenate((cluster * ballots.n + first, cluster * ballots.n + second)), return_inverse=True
    )
    beaten = np.zeros(len(keys), dtype=np.int64)
    lost_first, lost_second = places[: len(first)], places[len(first) :]
    np.add.at(beaten, lost_first[outcome == CODES["b"]], 1)
    np.add.at(beaten, lost_second[outcome == CODES["a"]], 1)
    ranking, model = np.divmod(keys, ballots.n)
    sizes = np.bincount(ranking, minlength=ballots.clusters)
    pairs = np.bincount(cluster, minlength=ballots.clusters)
    ties = np.bincount(cluster, weights=outcome == TIE, minlength=ballots.clusters)
    # k models and k - 1 pairs, none of them a tie: a winner and the rest. Two models are a pair either way.
    is_winner = (pairs == sizes - 1) & (ties == 0) & (sizes > 2)
    return ranking, model, np.where(is_winner[ranking] & (beaten > 0), UNPLACED, beaten)


def _within_reach(ranking: Integers, model: Integers, place: Integers) -> tuple[Integers, Integers, Integers]:
    """The rankings without those in which too many are tied for one place."""
    placed_at = np.column_stack((ranking, place))[place != UNPLACED]
    shared, sizes = np.unique(placed_at, axis=0, return_counts=True)
    kept = ~np.isin(ranking, shared[sizes > MAX_TIED, 0])
    return ranking[kept], model[kept], place[kept]


def _style_control(board: Board, segment: Segment, evidence: Evidence) -> Extras | None:
    """Reads the comparisons whose answers' styles are known. None where that is none, or no style ever differed."""
    known = comparisons_of(board, segment).filter(style_length__isnull=False).order_by("id")
    rows = list(
        known.values_list("source_id", "model_a_id", "model_b_id", "outcome", "weight", *STYLE).iterator(CHUNK_ROWS)
    )
    position = {model: index for index, model in enumerate(evidence.models)}
    rows = [row for row in rows if row[1] in position and row[2] in position]
    if not rows:
        return None
    source, first, second, outcome, weight, *style = zip(*rows, strict=True)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(source))}
    ballots = Ballots.of(
        len(position),
        [numbers[name] for name in source],
        [position[model] for model in first],
        [position[model] for model in second],
        [CODES[kind] for kind in outcome],
        weight=weight,
    )
    differences = np.array(style, dtype=np.float64).T
    scale = np.sqrt((differences**2).mean(axis=0))
    if not scale.any():
        return None
    made = covariates.fit(ballots, differences / np.where(scale > 0, scale, 1.0))
    numbers_of = Numbers(made.ratings, made.lower, made.upper, made.covariance)
    effects = zip(made.coefficients, made.coefficients_lower, made.coefficients_upper, strict=True)
    return _rows(
        evidence.models,
        numbers_of,
        comparisons=len(rows),
        features={
            name.removeprefix("style_"): [float(value) for value in effect]
            for name, effect, size in zip(STYLE, effects, scale, strict=True)
            if size > 0
        },
    )


def _position(evidence: Evidence, ballots: Ballots | None) -> Extras | None:
    """Of battles of two alone: a line-up that is named stands in the order of the catalogue, not in a random one, and
    its pairs are not independent."""
    number = evidence.number.copy()
    if ballots is not None:
        n, kinds = len(evidence.models), len(CODES)
        cells = (evidence.first * n + evidence.second) * kinds + evidence.outcome  # ascending
        of_lineups = (ballots.first * n + ballots.second) * kinds + ballots.outcome
        place = np.searchsorted(cells, of_lineups)
        known = (place < len(cells)) & (cells[np.minimum(place, len(cells) - 1)] == of_lineups)
        np.subtract.at(number, place[known], 1)
    grouped, left = evidence.grouped, number > 0
    if not left.any():
        return None
    rows = Ballots.of(
        grouped.n, grouped.cluster[left], grouped.first[left], grouped.second[left], grouped.outcome[left],
        weight=grouped.weight[left],
    )  # fmt: skip
    made = position_effect(rows, number=number[left])
    if np.isnan(made.rate):
        return None
    return {"rate": made.rate, "lower": made.lower, "upper": made.upper, "is_certain": bool(made.is_certain)}
