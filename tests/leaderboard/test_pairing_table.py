"""The table that battles draw by is made with the leaderboard, from its votes."""

import numpy as np
import pytest
from django.utils import timezone

from leaderboard import services, tasks
from leaderboard.models import Pairing
from leaderboard.pairing import pairing_scores
from providers.models import LanguageModel
from tests import factories

pytestmark = pytest.mark.django_db


def test_the_table_is_made_with_the_leaderboard() -> None:
    first, second = factories.language_model(), factories.language_model()
    services.comparisons_record(comparisons=[comparison(first, second, str(number)) for number in range(3)])
    tasks.snapshots_rebuild()
    row = Pairing.objects.get()
    assert row.model_ids == sorted([first.pk, second.pk])
    assert row.votes == [3, 3]


def test_the_open_pair_gets_the_higher_score_and_the_row_is_replaced() -> None:
    models = [factories.language_model() for _ in range(3)]
    one, two, three = (model.pk for model in models)
    services.pairing_refresh(pairs=[])
    assert pairing_scores(models, [1, 1, 1])[0, 1] == pytest.approx(9)  # both are new: a boost of 3 each
    services.pairing_refresh(pairs=[[one, two, 50, 50, 10, 0], [two, three, 100, 5, 0, 3], [one, three, 100, 5, 0, 0]])
    scores = pairing_scores(models, [1, 1, 1])
    assert scores[0, 1] > 2 * scores[0, 2]
    assert np.array_equal(scores, scores.T)
    assert Pairing.objects.get().votes == [215, 218, 213]


def test_retired_models_are_not_in_the_table_but_their_votes_place_the_others() -> None:
    models = [factories.language_model() for _ in range(3)]
    retired = factories.language_model(status=LanguageModel.Status.RETIRED)
    one, two, three = (model.pk for model in models)
    # One and two always beat the retired one, which always beats three: so one and two are near each other.
    pairs = [[one, retired.pk, 90, 10, 0, 0], [two, retired.pk, 90, 10, 0, 0], [three, retired.pk, 2, 98, 0, 0]]
    row = services.pairing_refresh(pairs=pairs)
    assert row.model_ids == [one, two, three]
    scores = np.frombuffer(row.scores, "<f4").reshape(3, 3)
    assert scores[0, 1] > 5 * scores[0, 2]


def test_an_arena_without_models_has_an_empty_table() -> None:
    assert services.pairing_refresh(pairs=[]).model_ids == []


def comparison(first: LanguageModel, second: LanguageModel, source: str) -> services.NewComparison:
    return services.NewComparison(
        model_a_id=first.pk,
        model_b_id=second.pk,
        outcome="a",
        source_kind="battle",
        source_id=source,
        voter_id=None,
        is_blind=True,
        category="general",
        language="en",
        created_at=timezone.now(),
    )
