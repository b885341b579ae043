"""Votes in the admin: to look at, and to leave out of the ratings."""

import pytest
from django.test import Client
from django.urls import reverse

from leaderboard.models import Comparison, Rating, Snapshot
from tests import factories
from tests.leaderboard.data import rebuilt, stored

pytestmark = pytest.mark.django_db

LIST = "admin:leaderboard_comparison_changelist"


@pytest.fixture
def comparison() -> Comparison:
    return stored(factories.language_model(), factories.language_model(), source_kind="import")


def act(client: Client, action: str, row: Comparison) -> int:
    return client.post(reverse(LIST), {"action": action, "_selected_action": [row.pk]}, follow=True).status_code


def test_a_vote_can_be_left_out_and_counted_again(client: Client, comparison: Comparison) -> None:
    client.force_login(factories.staff())
    assert act(client, "leave_out", comparison) == 200
    assert Comparison.objects.get().exclusion == "admin"
    assert act(client, "count_again", comparison) == 200
    assert Comparison.objects.get().exclusion == ""


def test_what_comes_from_a_battle_follows_its_vote(client: Client) -> None:
    row = stored(factories.language_model(), factories.language_model())
    client.force_login(factories.staff())
    assert act(client, "leave_out", row) == 200
    assert Comparison.objects.get().exclusion == ""


def test_votes_snapshots_and_ratings_can_be_looked_at_and_not_changed(client: Client, comparison: Comparison) -> None:
    rebuilt()
    client.force_login(factories.staff())
    for model in (Comparison, Snapshot, Rating):
        name = f"admin:leaderboard_{model._meta.model_name}"
        row = model._default_manager.all()[0]
        assert client.get(reverse(f"{name}_changelist")).status_code == 200
        assert client.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200
        assert client.post(reverse(f"{name}_change", args=[row.pk]), {}).status_code == 403
        assert client.get(reverse(f"{name}_add")).status_code == 403
        assert client.post(reverse(f"{name}_delete", args=[row.pk])).status_code == 403
