"""What a snapshot holds, when one is made, and how long it is kept."""

import random
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from leaderboard import rebuild, saving, selectors, services
from leaderboard.boards import comparisons_of
from leaderboard.models import MAIN, Board, Comparison, Rating, Snapshot
from leaderboard.statistics.elo import beginners, elo
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import BEGINNING, rebuilt, stored

pytestmark = pytest.mark.django_db


@pytest.fixture
def contenders() -> list[LanguageModel]:
    return [factories.language_model() for _ in range(4)]


def vote(contenders: list[LanguageModel], number: int, *, seed: int = 1) -> None:
    rng = random.Random(seed)
    for _ in range(number):
        a, b = rng.sample(contenders, 2)
        stored(a, b, rng.choice(Comparison.Outcome.values))


def ratings() -> dict[int, Rating]:
    return {rating.model_id: rating for rating in Snapshot.objects.latest().ratings.all()}


def elo_of_all() -> dict[int, float]:
    """Elo from the first vote, by the plain way."""
    scores = {"a": 1.0, "b": 0.0, "tie": 0.5}
    rows = list(comparisons_of(Board.objects.get(slug=MAIN)).order_by("id"))
    models = sorted({row.model_a_id for row in rows} | {row.model_b_id for row in rows})
    games = [
        (models.index(row.model_a_id), models.index(row.model_b_id), scores[row.outcome], row.weight)
        for row in rows
        if row.outcome in scores
    ]
    return dict(zip(models, elo(games, beginners(len(models))).ratings, strict=True))


def test_a_snapshot_says_what_it_was_made_of(contenders: list[LanguageModel]) -> None:
    a, b, *_ = contenders
    voter = factories.user()
    first = stored(a, b, "a", voter=voter)
    stored(a, b, "tie", voter=voter)
    last = stored(b, a, "both_bad", voter=factories.user())
    snapshot = rebuilt()
    assert snapshot is not None
    assert (snapshot.comparisons, snapshot.voters, snapshot.last_comparison_id) == (3, 2, last.pk)
    assert (snapshot.first_at, snapshot.last_at) == (first.created_at, last.created_at)
    assert snapshot.parameters["both_bad"] == "left out"
    assert snapshot.fit["solver"] == "newton"
    assert snapshot.pairs == [[a.pk, b.pk, 1, 0, 1, 1]]


def test_a_row_holds_the_counts_of_its_model(contenders: list[LanguageModel]) -> None:
    a, b, *_ = contenders
    for outcome in ("a", "a", "b", "tie", "both_bad"):
        stored(a, b, outcome)
    rebuilt()
    best = ratings()[a.pk]
    assert (best.wins, best.losses, best.ties, best.both_bad, best.comparisons) == (2, 1, 1, 1, 5)
    assert best.win_rate == pytest.approx(2.5 / 4)
    assert best.both_bad_rate == pytest.approx(1 / 5)
    assert (best.rank, best.rank_lower, best.rank_upper) == (1, 1, 2)


def test_open_and_excluded_votes_do_not_count(contenders: list[LanguageModel]) -> None:
    a, b, *_ = contenders
    stored(a, b, is_blind=False)
    stored(a, b, exclusion="admin")
    assert rebuilt() is None
    stored(a, b)
    snapshot = rebuilt()
    assert snapshot is not None
    assert snapshot.comparisons == 1


def test_without_anything_new_no_snapshot_is_made(contenders: list[LanguageModel]) -> None:
    vote(contenders, 10)
    assert rebuilt() is not None
    assert rebuilt() is None
    assert Snapshot.objects.count() == 1


def test_elo_carried_on_is_elo_from_the_first_vote(contenders: list[LanguageModel]) -> None:
    for seed in range(3):
        vote(contenders, 20, seed=seed)
        rebuilt()
    contenders.append(factories.language_model())
    vote(contenders, 20, seed=9)
    rebuilt()
    assert {pk: row.elo for pk, row in ratings().items()} == pytest.approx(elo_of_all())


def test_elo_is_played_again_after_an_old_vote_was_left_out(contenders: list[LanguageModel]) -> None:
    vote(contenders, 40)
    rebuilt()
    oldest = Comparison.objects.filter(outcome="a").order_by("id").values_list("pk", flat=True)[:1]
    services.comparisons_exclude(comparisons=Comparison.objects.filter(pk__in=list(oldest)), reason="admin")
    rebuilt()
    assert {pk: row.elo for pk, row in ratings().items()} == pytest.approx(elo_of_all())


def test_a_vote_committed_late_with_a_lower_id_is_not_lost(contenders: list[LanguageModel]) -> None:
    vote(contenders, 20)
    late = Comparison.objects.order_by("id")[5]
    Comparison.objects.filter(pk=late.pk).delete()
    rebuilt()
    late.save(force_insert=True)
    rebuilt()
    assert {pk: row.elo for pk, row in ratings().items()} == pytest.approx(elo_of_all())


def test_only_the_new_votes_are_read_for_elo(contenders: list[LanguageModel], monkeypatch: pytest.MonkeyPatch) -> None:
    vote(contenders, 20)
    rebuilt()
    read = []
    plain = rebuild.read_games
    monkeypatch.setattr(rebuild, "read_games", lambda *a, **k: read.append(k["after"]) or plain(*a, **k))
    vote(contenders, 5, seed=2)
    rebuilt()
    assert len(read) == 1
    assert read[0] > 0


def test_models_that_never_met_the_others_are_listed_without_a_rating(contenders: list[LanguageModel]) -> None:
    a, b, c, d = contenders
    stored(a, b, "a")
    stored(a, b, "b")
    stored(c, d, "a")
    rebuilt()
    lone = ratings()[c.pk]
    assert (lone.rating, lone.rating_lower, lone.rank) == (None, None, None)
    assert lone.wins == 1
    assert ratings()[a.pk].rating == pytest.approx(1000)


def test_when_every_vote_is_left_out_the_leaderboard_empties(contenders: list[LanguageModel]) -> None:
    vote(contenders, 5)
    rebuilt()
    services.comparisons_exclude(comparisons=Comparison.objects.all(), reason="admin")
    snapshot = rebuilt()
    assert snapshot is not None
    assert snapshot.comparisons == 0
    assert rebuilt() is None


def test_a_rebuild_takes_a_fixed_number_of_queries(
    contenders: list[LanguageModel], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    vote(contenders, 29)
    with django_assert_max_num_queries(26):
        rebuilt()


def test_old_snapshots_are_kept_one_a_day_and_their_pairs_are_dropped(
    contenders: list[LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "SNAPSHOTS_KEPT", 2)
    for number in range(6):
        stored(contenders[0], contenders[1])
        made = rebuilt()
        assert made is not None
        day = BEGINNING + timedelta(days=number // 2, hours=number % 2)
        Snapshot.objects.filter(pk=made.pk).update(computed_at=day)
    stored(contenders[0], contenders[1])
    newest = rebuilt()
    assert newest is not None
    # Days of two snapshots each: the last of each earlier day stays, and of the last two all.
    assert list(Snapshot.objects.order_by("id").values_list("comparisons", flat=True)) == [2, 4, 5, 6, 7]
    assert [snapshot.pk for snapshot in Snapshot.objects.exclude(pairs=[])] == [newest.pk]


def test_ratings_now_are_those_of_the_newest_snapshot(contenders: list[LanguageModel]) -> None:
    assert selectors.ratings_now([contenders[0].pk]) == {}
    vote(contenders, 10)
    rebuilt()
    vote(contenders, 10, seed=2)
    newest = rebuilt()
    found = selectors.ratings_now([contenders[0].pk, contenders[1].pk])
    assert set(found) == {contenders[0].pk, contenders[1].pk}
    assert {rating.snapshot_id for rating in found.values()} == {newest and newest.pk}


def test_newer_votes_are_counted_as_pending(contenders: list[LanguageModel]) -> None:
    vote(contenders, 3)
    assert selectors.pending_count(Board.objects.get(slug=MAIN), None) == 3
    snapshot = rebuilt()
    vote(contenders, 2, seed=2)
    assert selectors.pending_count(Board.objects.get(slug=MAIN), snapshot) == 2


def test_the_command_prints_the_table(contenders: list[LanguageModel]) -> None:
    out = StringIO()
    call_command("snapshots_rebuild", stdout=out)
    assert "no votes yet" in out.getvalue()
    vote(contenders, 10)
    call_command("snapshots_rebuild", stdout=out)
    assert contenders[0].name in out.getvalue()
    assert Snapshot.objects.latest().computed_at <= timezone.now()
