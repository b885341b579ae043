"""The review of votes: who stands out, what came in bursts, and the ratings with and without what is left out."""

from datetime import timedelta
from itertools import combinations

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from leaderboard.anomalies import votes_review
from leaderboard.models import Comparison, Review, VoterScore
from providers.models import LanguageModel
from tests import factories
from tests.leaderboard.data import BEGINNING

pytestmark = pytest.mark.django_db


def votes(
    models: list[LanguageModel], voter: User, number: int, *, upside_down: bool = False, seed: int = 1, **fields: object
) -> None:
    """So many votes of a person, who prefers the earlier model in nine of ten, or the later one."""
    rng = np.random.default_rng(seed + voter.pk)
    rows = []
    for index in range(number):
        first, second = rng.choice(len(models), 2, replace=False)
        is_better = (first < second) != upside_down
        outcome = "a" if is_better == (rng.random() < 0.9) else "b"
        values = {
            "model_a": models[first],
            "model_b": models[second],
            "outcome": outcome,
            "source_kind": "battle",
            "source_id": f"{voter.pk}-{index}",
            "voter": voter,
            "created_at": BEGINNING + timedelta(hours=float(rng.uniform(0, 500))),
        }
        rows.append(Comparison(**(values | fields)))
    Comparison.objects.bulk_create(rows)


@pytest.fixture
def models() -> list[LanguageModel]:
    return [factories.language_model() for _ in range(4)]


def test_who_votes_against_everyone_stands_out_and_others_do_not(models: list[LanguageModel]) -> None:
    people = [factories.user() for _ in range(12)]
    for person in people:
        votes(models, person, 25)
    odd = factories.user("odd")
    votes(models, odd, 25, upside_down=True)
    votes_review()
    assert [score.voter.username for score in VoterScore.objects.filter(q__lt=VoterScore.ODD)] == ["odd"]
    votes_review()
    assert VoterScore.objects.count() == 13  # of the newest review alone


def test_the_ratings_are_shown_with_and_without_what_is_left_out(models: list[LanguageModel]) -> None:
    votes(models, factories.user(), 120)
    votes(models, factories.user(), 120, upside_down=True, exclusion="flagged")
    votes(models, factories.user(), 5, exclusion="withdrawn")
    review = votes_review()
    assert (review.votes, review.left_out) == (240, 120)
    best = review.ratings[0]
    assert best["model"] == models[0].name
    assert best["counted"] > best["all"] + 100
    assert sum(row["left_out"] for row in review.ratings) == 2 * 120


def test_a_burst_of_one_person_is_found(models: list[LanguageModel]) -> None:
    for _ in range(8):
        votes(models, factories.user(), 20)
    quick = factories.user()
    votes(models, quick, 30, created_at=BEGINNING + timedelta(hours=3))
    found = [burst for burst in votes_review().bursts if burst["kind"] == "voter"]
    assert [(burst["of"], burst["votes"]) for burst in found] == [(str(quick.pk), 30)]


def test_nothing_stands_out_where_there_is_nothing() -> None:
    review = votes_review()
    assert (review.votes, review.ratings, review.bursts) == (0, [], [])


def test_the_admin_shows_the_reviews(client: Client, models: list[LanguageModel]) -> None:
    for _ in range(3):
        votes(models, factories.user("<b>odd</b>" if not User.objects.exists() else ""), 20, created_at=BEGINNING)
    LanguageModel.objects.filter(pk=models[0].pk).update(name="<i>Best</i>")
    review = votes_review()
    client.force_login(factories.staff())
    page = client.get(reverse("admin:leaderboard_review_change", args=[review.pk])).content.decode()
    assert "&lt;i&gt;Best&lt;/i&gt;" in page
    assert client.get(reverse("admin:leaderboard_review_changelist")).status_code == 200
    assert client.get(reverse("admin:leaderboard_voterscore_changelist"), {"odd": "yes"}).status_code == 200
    assert client.post(reverse("admin:leaderboard_review_delete", args=[review.pk])).status_code == 403
    assert Review.objects.count() == 1


def test_the_pairs_of_a_line_up_are_one_vote_and_no_burst(models: list[LanguageModel]) -> None:
    crowd = [factories.language_model() for _ in range(8)]
    for person in [factories.user() for _ in range(6)]:
        votes(models, person, 20)
        for better, worse in combinations(crowd, 2):
            Comparison.objects.create(
                model_a=better, model_b=worse, outcome="a", source_kind="battle", source_id=f"lineup-{person.pk}",
                voter=person, mode="lineup", created_at=BEGINNING + timedelta(hours=person.pk % 400),
            )  # fmt: skip
    review = votes_review()
    assert review.votes == 6 * 21
    assert review.bursts == []
    assert {score.decided for score in VoterScore.objects.all()} <= {20, 21}
