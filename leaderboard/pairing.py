"""Keeps the scores by which pairs are drawn, and reads them back. The mathematics is in `matchmaking`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from django.conf import settings
from django.utils import timezone

from leaderboard import matchmaking
from leaderboard.models import Pairing
from leaderboard.statistics.types import Floats
from providers.models import LanguageModel

THE_ROW = 1
# The scores are made anew with every leaderboard. Older ones than this are not believed: the worker stands still, or
# nobody votes, and then it does not matter.
STALE_AFTER = timedelta(days=7)


def pairing_refresh(*, pairs: Sequence[Sequence[float]]) -> Pairing:
    """Store how useful the next vote on each pair of active models would be.

    `pairs` are those of a snapshot: model, model, wins of the first, wins of the second, ties, both bad. Votes on
    models that are no longer drawn still help to place the others.
    """
    active = set(LanguageModel.objects.filter(status=LanguageModel.Status.ACTIVE).values_list("pk", flat=True))
    ids = np.array(sorted(active.union(*({int(pair[0]), int(pair[1])} for pair in pairs))), dtype=np.int64)
    points, votes = np.zeros((len(ids), len(ids))), np.zeros(len(ids))
    if len(pairs):
        table = np.array(pairs, dtype=np.float64)
        first, second = np.searchsorted(ids, table[:, :2].astype(np.int64)).T
        won, lost, ties, both_bad = table[:, 2:].T
        np.add.at(points, (first, second), won + ties / 2)
        np.add.at(points, (second, first), lost + ties / 2)
        for side in (first, second):
            np.add.at(votes, side, won + lost + ties + both_bad)
    strengths, covariance = matchmaking.believe(points)
    drawn = np.flatnonzero(np.isin(ids, sorted(active)))
    scores = matchmaking.usefulness(strengths[drawn], covariance[np.ix_(drawn, drawn)])
    row = Pairing(
        pk=THE_ROW,
        model_ids=ids[drawn].tolist(),
        votes=votes[drawn].astype(int).tolist(),
        scores=scores.astype("<f4").tobytes(),
        computed_at=timezone.now(),
    )
    Pairing.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["model_ids", "votes", "scores", "computed_at"],
    )
    return row


@dataclass(frozen=True, slots=True)
class _Known:
    """What the stored row says about some models: their votes (n,), and the scores of their pairs (n, n), 1 where the
    row does not know one of them."""

    votes: Floats
    scores: Floats


def pairing_scores(models: Sequence[LanguageModel], weights: Sequence[float]) -> Floats:
    """The scores (n, n) by which pairs of these models are drawn, by the settings PAIRING, PAIRING_BOOST and
    PAIRING_BOOST_VOTES and their weights; one of weight 0 is in no pair. At most one query."""
    if settings.PAIRING == "uniform":
        return matchmaking.by_weight([weight > 0 for weight in weights])
    known = _known(models)
    boosts = matchmaking.boosts(known.votes, factor=settings.PAIRING_BOOST, below=settings.PAIRING_BOOST_VOTES)
    scores = matchmaking.by_weight(np.array(weights) * boosts)
    return scores * known.scores if settings.PAIRING == "active" else scores


def _known(models: Sequence[LanguageModel]) -> _Known:
    votes, scores = np.zeros(len(models)), np.ones((len(models), len(models)))
    row = Pairing.objects.filter(pk=THE_ROW, computed_at__gt=timezone.now() - STALE_AFTER).first()
    if row is None:
        return _Known(votes, scores)
    n = len(row.model_ids)
    place = {model: index for index, model in enumerate(row.model_ids)}
    here = np.array([index for index, model in enumerate(models) if model.pk in place], dtype=np.int64)
    there = np.array([place[models[index].pk] for index in here], dtype=np.int64)
    votes[here] = np.array(row.votes, dtype=np.float64)[there]
    scores[np.ix_(here, here)] = np.frombuffer(row.scores, "<f4").reshape(n, n)[np.ix_(there, there)]
    return _Known(votes, scores)
