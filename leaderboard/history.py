"""How ratings and votes came to be: the leaderboard as it would have stood at the end of each period."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np
from django.db.models import Count, Max, Min, Sum
from django.db.models.functions import TruncDay, TruncHour

from leaderboard.boards import Segment, comparisons_of
from leaderboard.evidence import CHUNK_ROWS, CODES
from leaderboard.models import Board
from leaderboard.statistics import bradley_terry
from leaderboard.statistics.types import Counts

# Points of a line; more cannot be told apart in a chart.
PERIODS = 60
# The best of today; a chart of more lines is not read.
LINES = 12
HOURS_UP_TO = timedelta(days=3)


def history_of(board: Board, segment: Segment, models: Sequence[int]) -> dict[str, Any]:
    """Votes in each period, and the ratings of the best models at its end, from all votes until then.

    `times` are the beginnings of periods in ISO 8601, `votes` and each model's list in `ratings` are as long; null is
    a model that was not rated then.
    """
    comparisons = comparisons_of(board, segment).order_by()
    ends = comparisons.aggregate(first=Min("created_at"), last=Max("created_at"))
    nothing: dict[str, Any] = {"unit": "day", "times": [], "votes": [], "ratings": {}}
    if ends["first"] is None:
        return nothing
    is_short = ends["last"] - ends["first"] <= HOURS_UP_TO
    period = TruncHour("created_at") if is_short else TruncDay("created_at")
    rows = list(
        comparisons.annotate(period=period)
        .values_list("period", "model_a_id", "model_b_id", "outcome")
        .annotate(number=Count("id"), total=Sum("weight"))
        .iterator(chunk_size=CHUNK_ROWS)
    )
    position = {model: index for index, model in enumerate(models)}
    rows = [row for row in rows if row[1] in position and row[2] in position]
    if not rows:  # all of these models' votes were left out since they were counted
        return nothing
    when, first, second, outcome, number, weight = zip(*rows, strict=True)
    times = sorted(set(when))
    starts = times[:: -(-len(times) // PERIODS)]
    place = np.searchsorted(np.array([time.timestamp() for time in starts]), [t.timestamp() for t in when], "right") - 1
    columns = (
        np.array([position[model] for model in first]),
        np.array([position[model] for model in second]),
        np.array([CODES[kind] for kind in outcome]),
    )
    numbers, weights = np.array(number, dtype=float), np.array(weight, dtype=float)
    table = np.full((len(starts), len(models)), np.nan)
    for index in range(len(starts)):
        until = place <= index
        counts = Counts.of(
            len(models), *(column[until] for column in columns), number=numbers[until], weight=weights[until]
        )
        table[index] = bradley_terry.fit(counts).ratings
    best = np.argsort(-np.nan_to_num(table[-1], nan=-np.inf), kind="stable")[:LINES]
    return {
        "unit": "hour" if is_short else "day",
        "times": [time.isoformat() for time in starts],
        "votes": np.bincount(place, weights=numbers, minlength=len(starts)).astype(int).tolist(),
        "ratings": {
            str(models[index]): [None if np.isnan(value) else round(float(value), 1) for value in table[:, index]]
            for index in best.tolist()
        },
    }
