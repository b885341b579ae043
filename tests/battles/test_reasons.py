"""The reasons that a voter may tick: a setting, and old votes keep theirs."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from battles.models import Preference
from common.vote_reasons import reasons_offered, reasons_shown
from tests import factories

pytestmark = pytest.mark.django_db


def test_the_page_offers_those_of_the_setting(client: Client, settings: Any) -> None:
    settings.VOTE_REASONS = ["clear", "honest=More <honest>", "short_and_dry"]
    battle = factories.battle()
    client.force_login(battle.owner)
    page = client.get(f"/battles/{battle.pk}/").content.decode()
    assert 'value="honest"' in page
    assert "More &lt;honest&gt;" in page
    assert "Short and dry" in page
    assert "Harmless" not in page


def test_an_unknown_reason_is_refused_and_the_known_ones_are_named(
    api_client: Callable[..., APIClient], settings: Any
) -> None:
    settings.VOTE_REASONS = ["clear", "honest=More honest"]
    battle = factories.battle()
    client, address = api_client(battle.owner, scopes=("read", "vote")), f"/api/v1/battles/{battle.pk}/preference/"
    refused = client.post(address, {"choice": "a", "reasons": ["correct", "clear"]}, format="json")
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "reason_unknown"
    assert refused.json()["error"]["message"] == "Unknown reason: correct. Known are: clear, honest."
    assert not Preference.objects.exists()
    taken = client.post(address, {"choice": "a", "reasons": ["honest", "clear", "honest"]}, format="json")
    assert (taken.status_code, taken.json()["preference"]["reasons"]) == (201, ["clear", "honest"])


def test_a_vote_keeps_reasons_that_are_no_longer_offered(settings: Any) -> None:
    settings.VOTE_REASONS = ["honest=More honest"]
    shown = reasons_shown(["honest", "harmless", "home_made"])
    assert [reason.label for reason in shown] == ["More honest", "Harmless", "Home made"]
    settings.VOTE_REASONS = []
    assert reasons_offered() == []
