"""What an administrator looks at: voters who differ from everyone, bursts, and the ratings with and without the votes
that are left out. Made in a worker from time to time and stored; nothing follows from it by itself."""

from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import numpy as np
from django.db import transaction

from leaderboard.evidence import CODES
from leaderboard.exclusions import Exclusion
from leaderboard.models import Comparison, Review, VoterScore
from leaderboard.statistics import bradley_terry
from leaderboard.statistics.anomaly import BURST_ALPHA, bursts, voters
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.types import A, B, Integers
from providers.models import LanguageModel

# The newest; more would only make old quarrels weigh, and take long.
VOTES_MAX = 500_000
# Of fewer decided votes nothing can be said.
DECIDED_MIN = 5
BURST_SECONDS = 600.0
BURST_VOTES_MIN = 10
KEPT = 50
SEED = 1
COLUMNS = ("model_a_id", "model_b_id", "outcome", "voter_id", "created_at", "exclusion", "source_id")


@dataclass(frozen=True, slots=True)
class _Votes:
    """The blind comparisons of people, one row each, (m,); models are numbered, `voter` is a person's id, `at` in
    seconds. All rows of one `ballot` are one vote: the pairs of a line-up are neither independent nor a burst."""

    models: list[int]
    voter: Integers
    first: Integers
    second: Integers
    outcome: Integers
    at: "np.ndarray[Any, np.dtype[np.float64]]"
    counts: "np.ndarray[Any, np.dtype[np.bool_]]"
    ballot: Integers

    def one_each(self, rows: "np.ndarray[Any, np.dtype[np.bool_]]") -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Of the chosen rows one of each ballot, drawn: the first would favour whoever stands first."""
        drawn = np.random.default_rng(SEED).permutation(np.flatnonzero(rows))
        _, place = np.unique(self.ballot[drawn], return_index=True)
        chosen = np.zeros(len(rows), dtype=np.bool_)
        chosen[drawn[place]] = True
        return chosen

    def ballots(self, rows: "np.ndarray[Any, np.dtype[np.bool_]]") -> Ballots:
        columns = (self.voter[rows], self.first[rows], self.second[rows], self.outcome[rows])
        return Ballots.of(len(self.models), *columns)


def votes_review() -> Review:
    """Look at all votes and store what stands out; older reviews keep their ratings and bursts, not their voters."""
    begun = perf_counter()
    votes = _read()
    scores = _voter_scores(votes)
    given = votes.one_each(np.ones(len(votes.voter), dtype=np.bool_))
    with transaction.atomic():
        review = Review.objects.create(
            votes=int(given.sum()),
            left_out=int((given & ~votes.counts).sum()),
            ratings=_ratings(votes),
            bursts=_bursts(votes),
            seconds=perf_counter() - begun,
        )
        VoterScore.objects.all().delete()
        for score in scores:
            score.review = review
        VoterScore.objects.bulk_create(scores, batch_size=1000)
        old = Review.objects.order_by("-id").values_list("pk", flat=True)[KEPT:]
        Review.objects.filter(pk__in=list(old)).delete()
    return review


def _read() -> _Votes:
    found = Comparison.objects.filter(is_blind=True, voter__isnull=False).exclude(exclusion=Exclusion.WITHDRAWN)
    rows = list(found.order_by("-id").values_list(*COLUMNS)[:VOTES_MAX])
    models = sorted({row[0] for row in rows} | {row[1] for row in rows})
    number = {pk: index for index, pk in enumerate(models)}
    ballots = {name: index for index, name in enumerate(dict.fromkeys(row[6] for row in rows))}

    def whole(values: list[Any]) -> Integers:
        return np.asarray(values, dtype=np.int64)

    return _Votes(
        models,
        voter=whole([row[3] for row in rows]),
        first=whole([number[row[0]] for row in rows]),
        second=whole([number[row[1]] for row in rows]),
        outcome=whole([CODES[row[2]] for row in rows]),
        at=np.asarray([row[4].timestamp() for row in rows], dtype=np.float64),
        counts=np.asarray([not row[5] for row in rows], dtype=np.bool_),
        ballot=whole([ballots[row[6]] for row in rows]),
    )


def _voter_scores(votes: _Votes) -> list[VoterScore]:
    """Of the votes that count: those that do not shall not shape what everyone thinks."""
    if not votes.counts.any():
        return []
    rows = votes.one_each(votes.counts)
    people = np.unique(votes.voter[rows])  # in the order of the clusters
    found = voters(votes.ballots(rows), seed=SEED)
    return [
        VoterScore(
            voter_id=int(people[row]),
            decided=int(found.decided[row]),
            z=float(found.z[row]),
            p=float(found.p[row]),
            q=float(found.q[row]),
        )
        for row in np.flatnonzero(found.decided >= DECIDED_MIN)
    ]


def _ratings(votes: _Votes) -> list[dict[str, Any]]:
    """Each model's rating from the votes that count and from all of them, best first."""
    if not votes.models:
        return []
    names = dict(LanguageModel.objects.filter(pk__in=votes.models).values_list("pk", "name"))
    everything = np.ones(len(votes.counts), dtype=np.bool_)
    counted, whole = (
        bradley_terry.fit(votes.ballots(rows).counts()).ratings if rows.any() else np.full(len(votes.models), np.nan)
        for rows in (votes.counts, everything)
    )
    size = len(votes.models)
    seen = [np.bincount(side[~votes.counts], minlength=size) for side in (votes.first, votes.second)]
    table: list[dict[str, Any]] = [
        {
            "model": names[pk],
            "counted": None if np.isnan(counted[row]) else round(float(counted[row]), 1),
            "all": None if np.isnan(whole[row]) else round(float(whole[row]), 1),
            "left_out": int(seen[0][row] + seen[1][row]),
        }
        for row, pk in enumerate(votes.models)
    ]
    return sorted(table, key=lambda row: (row["counted"] is None, -(row["counted"] or 0), row["model"]))


def _bursts(votes: _Votes) -> list[dict[str, Any]]:
    """Spans in which one person voted, or one model won, far more often than their share of all votes."""
    names = dict(LanguageModel.objects.filter(pk__in=votes.models).values_list("pk", "name"))
    winner = np.select([votes.outcome == A, votes.outcome == B], [votes.first, votes.second], -1)
    given = votes.one_each(np.ones(len(votes.voter), dtype=np.bool_))
    subjects = [("voter", str(person), given & (votes.voter == person)) for person in np.unique(votes.voter)]
    subjects += [("model", names[pk], votes.one_each(winner == row)) for row, pk in enumerate(votes.models)]
    subjects = [subject for subject in subjects if subject[2].sum() >= BURST_VOTES_MIN]
    found: list[dict[str, Any]] = []
    for kind, name, rows in subjects:
        alpha = BURST_ALPHA / len(subjects)
        for burst in bursts(votes.at[rows], window=BURST_SECONDS, background=votes.at[given], alpha=alpha):
            found.append(
                {
                    "kind": kind,
                    "of": name,
                    "start": datetime.fromtimestamp(burst.start, UTC).isoformat(),
                    "votes": burst.votes,
                    "expected": round(burst.expected, 1),
                    "p": burst.p,
                }
            )
    return sorted(found, key=lambda row: row["p"])[:KEPT]
