"""Two rebuilds at the same time: whichever saves last, no vote is missing from the newest snapshot."""

from typing import Any

import pytest
from django.db import connection

from leaderboard import rebuild, saving
from leaderboard.models import Snapshot
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import rebuilt, stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair() -> tuple[LanguageModel, LanguageModel]:
    return factories.language_model(), factories.language_model()


class Others:
    """Lets another vote and another rebuild happen whenever a rebuild has read and not yet saved, `times` times."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, pair: tuple[LanguageModel, LanguageModel], *, times: int = 1
    ) -> None:
        self.left = times
        self.pair = pair
        self.judge = rebuild.judge
        monkeypatch.setattr(rebuild, "judge", self)

    def __call__(self, *arguments: Any) -> Any:
        if self.left:
            self.left -= 1
            left, self.left = self.left, 0  # the other's own rebuild is left alone
            stored(*self.pair)
            assert rebuilt() is not None
            self.left = left
        return self.judge(*arguments)


@pytest.mark.parametrize("is_first", [True, False])
def test_an_older_reading_saved_last_does_not_become_the_newest(
    is_first: bool, pair: tuple[LanguageModel, LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(*pair)
    if not is_first:
        rebuilt()
        stored(*pair)
    already = Snapshot.objects.count()
    votes = 2 if is_first else 3
    Others(monkeypatch, pair)
    assert rebuilt() is None
    assert Snapshot.objects.latest().comparisons == votes
    assert Snapshot.objects.count() == already + 1


def vote_before_starting_over(pair: tuple[LanguageModel, LanguageModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets one more vote come when another's snapshot is there and before the slower rebuild reads again."""
    plain = rebuild.snapshot_save

    def save(*arguments: Any, **named: Any) -> bool:
        saved = plain(*arguments, **named)
        if not saved:
            stored(*pair)
        return saved

    monkeypatch.setattr(rebuild, "snapshot_save", save)


def test_a_rebuild_that_starts_over_has_the_votes_of_both(
    pair: tuple[LanguageModel, LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(*pair)
    Others(monkeypatch, pair)
    vote_before_starting_over(pair, monkeypatch)
    snapshot = rebuilt()
    assert snapshot is not None
    assert snapshot == Snapshot.objects.latest()
    assert snapshot.comparisons == 3


def test_a_rebuild_that_always_comes_late_leaves_it_to_the_others(
    pair: tuple[LanguageModel, LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(*pair)
    others = Others(monkeypatch, pair, times=rebuild.ATTEMPTS + 1)
    vote_before_starting_over(pair, monkeypatch)
    assert rebuilt() is None
    assert others.left == 1
    assert Snapshot.objects.count() == rebuild.ATTEMPTS
    assert Snapshot.objects.latest().comparisons == 2 * rebuild.ATTEMPTS


def test_the_last_attempt_does_not_give_way_to_a_snapshot_of_fewer_votes(
    pair: tuple[LanguageModel, LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(*pair)
    earlier = rebuilt()
    assert earlier is not None
    stored(*pair)
    monkeypatch.setattr(rebuild, "ATTEMPTS", 1)
    plain = rebuild.judge

    def judge(*arguments: Any) -> Any:
        # Another rebuild, which has read before the second vote, saves now.
        Snapshot.objects.filter(pk=earlier.pk).delete()
        earlier.pk = None
        earlier.save()
        return plain(*arguments)

    monkeypatch.setattr(rebuild, "judge", judge)
    assert rebuilt() is not None
    assert Snapshot.objects.latest().comparisons == 2


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL writes several transactions at once")
def test_a_snapshot_is_saved_under_a_lock(
    pair: tuple[LanguageModel, LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(*pair)
    locks = []

    def prune(*, newest: Snapshot) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()"
            )
            locks.extend(cursor.fetchall())

    monkeypatch.setattr(saving, "snapshots_prune", prune)
    rebuilt()
    assert locks == [(saving.LOCK,)]
