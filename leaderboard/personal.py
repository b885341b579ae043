"""A person's own ranking: their votes on the main board, smoothed by everybody's. Called through the services."""

from time import perf_counter

import numpy as np
from django.conf import settings

from leaderboard.evidence import Evidence, read_evidence_of
from leaderboard.models import MAIN, Board, Rating, Snapshot
from leaderboard.saving import snapshot_save
from leaderboard.selectors import leaderboard_latest
from leaderboard.standing import Numbers, placed, value_of
from leaderboard.statistics.personal import SPREAD, personal
from leaderboard.statistics.types import Counts
from leaderboard.statistics.win_rate import win_rate


def person_rebuild(person_id: int) -> Snapshot | None:
    """Make a person's snapshot of the main board; None where neither their votes nor everybody's have changed."""
    started = perf_counter()
    board = Board.objects.get(slug=MAIN)
    previous = leaderboard_latest(board, person_id=person_id)
    everybody = leaderboard_latest(board)
    mine = read_evidence_of(board, person_id)
    parameters = {"method": "personal", "spread": SPREAD, "everybody": everybody.pk if everybody else None}
    told = [mine.comparisons, mine.last_id, mine.id_sum]
    if previous is None and not mine.comparisons:
        return None
    if (
        previous is not None
        and previous.parameters == parameters
        and [previous.comparisons, previous.last_comparison_id, previous.id_sum] == told
    ):
        return None
    known = {row.model_id: row.rating for row in everybody.ratings.all()} if everybody else {}
    rated = {model for model, rating in known.items() if rating is not None}
    snapshot = Snapshot(
        board=board,
        person_id=person_id,
        parameters=parameters,
        comparisons=mine.comparisons,
        voters=1,
        last_comparison_id=mine.last_id,
        id_sum=mine.id_sum,
        code_version=settings.VERSION,
    )
    rows = _rows(snapshot, mine, sorted(rated | set(mine.models)), known)
    snapshot.seconds = perf_counter() - started
    return snapshot if snapshot_save(snapshot, rows, previous=previous, is_last_attempt=True) else None


def _rows(snapshot: Snapshot, mine: Evidence, models: list[int], known: dict[int, float | None]) -> list[Rating]:
    position = np.searchsorted(models, mine.models)
    counts = Counts.of(
        len(models),
        position[mine.first] if len(position) else mine.first,
        position[mine.second] if len(position) else mine.second,
        mine.outcome,
        number=mine.number,
        weight=mine.weight,
        square=mine.square,
    )
    everyone = np.array([np.nan if (value := known.get(model)) is None else value for model in models])
    made = personal(counts, everyone)
    snapshot.extras = {
        "shift": {str(model): float(shift) for model, shift in zip(models, made.shift, strict=True)},
    }
    places = placed(Numbers(made.ratings, made.lower, made.upper))
    number, rates = counts.number, win_rate(counts)
    return [
        Rating(
            snapshot=snapshot,
            model_id=model,
            **{name: getattr(place, name) for name in place.__slots__},
            wins=int(number.wins[index].sum()),
            losses=int(number.wins[:, index].sum()),
            ties=int(number.ties[index].sum()),
            both_bad=int(number.both_bad[index].sum()),
            comparisons=int(
                number.wins[index].sum()
                + number.wins[:, index].sum()
                + number.ties[index].sum()
                + number.both_bad[index].sum()
            ),
            win_rate=value_of(rates.rate, index),
            win_rate_lower=value_of(rates.lower, index),
            win_rate_upper=value_of(rates.upper, index),
        )
        for index, (model, place) in enumerate(zip(models, places, strict=True))
    ]
