"""How far a vote has moved a rating."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.models import MAIN, Board, Rating, Snapshot
from leaderboard.selectors import rating_changes
from providers.models import LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db


def _snapshot(minutes_ago: int, ratings: dict[LanguageModel, float | None]) -> None:
    snapshot = Snapshot.objects.create(
        board=Board.objects.get(slug=MAIN), comparisons=1, voters=1, seconds=0, code_version="test"
    )
    Snapshot.objects.filter(pk=snapshot.pk).update(computed_at=timezone.now() - timedelta(minutes=minutes_ago))
    for model, rating in ratings.items():
        Rating.objects.create(
            snapshot=snapshot, model=model, rating=rating, elo=1000, wins=0, losses=0, ties=0, both_bad=0, comparisons=1
        )


def test_a_change_is_from_the_last_snapshot_before_to_the_newest_after() -> None:
    one, two, new = (factories.language_model() for _ in range(3))
    _snapshot(9, {one: 900, two: 1100})
    _snapshot(7, {one: 1000, two: None})
    _snapshot(3, {one: 1005, two: 990})
    _snapshot(1, {one: 1012, two: 988, new: 1000})
    since = timezone.now() - timedelta(minutes=5)
    assert rating_changes([one.pk, two.pk, new.pk], since) == {one.pk: 12}


def test_there_is_no_change_before_the_vote_is_rated() -> None:
    one = factories.language_model()
    _snapshot(9, {one: 900})
    assert rating_changes([one.pk], timezone.now()) == {}
