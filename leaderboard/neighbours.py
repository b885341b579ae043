"""Whether a model is certainly better than the next, however often one looks, and how many votes that would take."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from django.db.models import Q

from leaderboard.boards import Segment, comparisons_of
from leaderboard.evidence import SCORES
from leaderboard.models import Board, Comparison
from leaderboard.statistics.sequential import compare, votes_needed
from leaderboard.statistics.types import TIE, A, B, BradleyTerry

# From the top: whom people ask about.
PAIRS = 10
# Of a pair; whoever is not told apart by these is not told apart by more, as far as anybody would care.
VOTES_MAX = 5_000
FUTURES = 400
SEED = 20_260_101
POINTS = {Comparison.Outcome.A: SCORES[A], Comparison.Outcome.B: SCORES[B], Comparison.Outcome.TIE: SCORES[TIE]}


def neighbours_of(board: Board, segment: Segment, models: Sequence[int], fitted: BradleyTerry) -> list[dict[str, Any]]:
    """Each of the first models beside the next, from their votes against each other alone.

    `lower` and `upper` hold the mean score of the better at every moment with 95%; `decided_at` is the vote that told
    them apart, `needed` how many more it takes in half of the simulated futures, `most` in nine of ten, null where
    that is beyond the horizon.
    """
    rated = np.flatnonzero(fitted.rated)
    best = rated[np.argsort(-fitted.ratings[rated], kind="stable")][: PAIRS + 1].tolist()
    found = []
    for better, next_one in pairwise(best):
        scores = scores_of(board, segment, models[better], models[next_one])
        now, future = compare(scores), votes_needed(scores, seed=SEED, futures=FUTURES)
        found.append(
            {
                "better": models[better],
                "next": models[next_one],
                "votes": len(scores),
                "mean": float(now.mean) if scores else None,
                "lower": float(now.lower[-1]) if scores else 0.0,
                "upper": float(now.upper[-1]) if scores else 1.0,
                "leader": now.leader,
                "decided_at": now.decided_at,
                "needed": future.median,
                "most": future.most,
                "horizon": future.horizon,
            }
        )
    return found


def scores_of(board: Board, segment: Segment, model: int, other: int) -> list[float]:
    """The scores of `model` against the other in the order of the votes; of a person who voted on the two again, the
    first only: votes must not depend on each other."""
    rows = (
        comparisons_of(board, segment)
        .filter(Q(model_a=model, model_b=other) | Q(model_a=other, model_b=model), outcome__in=POINTS)
        .order_by("id")
        .values_list("voter_id", "model_a_id", "outcome")[:VOTES_MAX]
    )
    seen: set[int] = set()
    scores = []
    for voter, first, outcome in rows:
        if voter is not None:
            if voter in seen:
                continue
            seen.add(voter)
        points = POINTS[Comparison.Outcome(outcome)]
        scores.append(points if first == model else 1 - points)
    return scores
