"""What a voter reads while an engine wakes: in a blind battle nothing that tells which model it is."""

import pytest
from django.utils import timezone

from battles.blinding import place_shown
from battles.models import Battle
from providers.adapters.base import WAKING
from tests import factories


@pytest.mark.django_db
def test_that_an_engine_wakes_is_said_only_where_the_models_are_known() -> None:
    blind = factories.battle()
    assert place_shown(blind, WAKING) == place_shown(blind, 7) == (None, "Waiting for a free place")
    words = (None, "Waiting for the model to wake up, which can take a minute")
    blind.revealed_at = timezone.now()
    assert place_shown(blind, WAKING) == words
    assert place_shown(factories.battle(mode=Battle.Mode.NAMED), WAKING) == words
