"""How far judges agree with people on our own battles. It reads every vote: a worker does it, and pages read that."""

from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.utils import timezone

from evaluations.agreement import Share
from evaluations.battles.agreement import battle_votes
from evaluations.models import BattleReport
from evaluations.reading.judging import share
from evaluations.reading.summaries import ASKED_SECONDS, enqueue
from evaluations.reading.votes import votes_report
from evaluations.scoring import Orders, orders

# Older than this it is computed anew: who stopped sharing meanwhile is then in no figure.
FRESH = timedelta(hours=1)


def battle_report_refresh() -> BattleReport:
    """Compute it and keep it in the place of the one before."""
    now = timezone.now()
    votes, games = battle_votes()
    leanings = {judge: _leanings(orders(own)) for judge, own in sorted(games.items())}
    report = votes_report(votes) | {"leanings": leanings}
    row, _ = BattleReport.objects.update_or_create(pk=1, defaults={"report": report, "computed_at": now})
    return row


def battle_report() -> BattleReport | None:
    """What is stored; None before the first time. Where it is not there or old, a worker is asked for it."""
    row = BattleReport.objects.first()
    if (row is None or timezone.now() - row.computed_at > FRESH) and cache.add("battle_report", True, ASKED_SECONDS):
        enqueue("evaluation_battle_report")
    return row


def _leanings(both: Orders) -> dict[str, Any]:
    return {
        "games": both.games,
        "without_verdict": both.errors,
        "flipped": share(Share(both.flipped, both.decided)),
        "first_shown": share(Share(both.first_shown, both.first_shown + both.second_shown)),
    }
