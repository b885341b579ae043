"""A model that fails again and again leaves the pairing for a while, and is tried again by itself."""

from datetime import timedelta

import pytest
from django.utils import timezone

from battles import services as battles
from battles.models import Battle
from providers.models import LanguageModel
from providers.services import generation_note, models_try
from providers.usage import FAILURES_TO_REST, REST_FIRST, REST_MAX
from tests import factories
from tests.providers.records import ended, failed

pytestmark = pytest.mark.django_db


@pytest.fixture
def model() -> LanguageModel:
    return factories.language_model()


def note(model: LanguageModel, *kinds: str) -> None:
    for kind in kinds:
        generation_note(model_id=model.pk, user_id=None, record=failed(kind))
    model.refresh_from_db()


def rest_of(model: LanguageModel) -> timedelta:
    model.refresh_from_db()
    assert model.resting_until is not None
    return model.resting_until - timezone.now()


def end_of_rest(model: LanguageModel) -> None:
    LanguageModel.objects.filter(pk=model.pk).update(resting_until=timezone.now())
    model.refresh_from_db()


def test_a_model_rests_after_five_failures_in_a_row_and_says_so(model: LanguageModel) -> None:
    note(model, "auth", "connection", "timeout", "upstream")
    assert model.is_available
    note(model, "rate_limit")
    assert not model.is_available
    assert model.is_active, "it may still be asked by name"
    assert "rests" in model.away_because
    assert model not in LanguageModel.objects.available()
    assert REST_FIRST - timedelta(seconds=20) < rest_of(model) <= REST_FIRST


@pytest.mark.parametrize("kind", ["bad_request", "content_filter", "context_length", "cancelled"])
def test_a_failure_that_says_nothing_about_the_model_is_not_held_against_it(model: LanguageModel, kind: str) -> None:
    note(model, *[kind] * (FAILURES_TO_REST + 1))
    assert model.failures_in_row == 0


@pytest.mark.parametrize("status", ["finished", "stopped"])
def test_an_answer_ends_the_row(model: LanguageModel, status: str) -> None:
    note(model, *["upstream"] * 4)
    generation_note(model_id=model.pk, user_id=None, record=ended(status=status))
    note(model, *["upstream"] * 4)
    assert model.is_available


def test_what_was_stopped_before_a_word_came_proves_nothing(model: LanguageModel) -> None:
    note(model, *["upstream"] * 4)
    generation_note(model_id=model.pk, user_id=None, record=ended(status="stopped", first_token_ms=None))
    note(model, "upstream")
    assert not model.is_available


def test_each_failed_trial_doubles_the_rest_up_to_an_hour(model: LanguageModel) -> None:
    note(model, *["upstream"] * FAILURES_TO_REST)
    for doubled in (2, 4, 8, 16, 32):
        end_of_rest(model)
        assert model.is_available
        note(model, "upstream")
        assert rest_of(model) > REST_FIRST * doubled - timedelta(seconds=20)
    for _ in range(2):
        end_of_rest(model)
        note(model, "upstream")
    assert REST_MAX - timedelta(seconds=20) < rest_of(model) <= REST_MAX


def test_one_outage_with_many_answers_under_way_is_one_rest(model: LanguageModel) -> None:
    earlier = timezone.now() - timedelta(seconds=5)
    for _ in range(30):
        generation_note(model_id=model.pk, user_id=None, record=failed("connection", started_at=earlier))
    assert rest_of(model) <= REST_FIRST


def test_one_request_alone_tries_a_model_that_has_rested(model: LanguageModel) -> None:
    note(model, *["upstream"] * FAILURES_TO_REST)
    end_of_rest(model)
    models_try(models=[model])
    model.refresh_from_db()
    assert not model.is_available, "nobody else may draw it while it is being tried"
    generation_note(model_id=model.pk, user_id=None, record=ended())
    model.refresh_from_db()
    assert model.is_available
    assert model.failures_in_row == 0


def test_a_trial_that_fails_is_held_against_the_model(model: LanguageModel) -> None:
    note(model, *["upstream"] * FAILURES_TO_REST)
    end_of_rest(model)
    models_try(models=[model])
    note(model, "upstream")
    assert rest_of(model) > REST_FIRST


def test_a_battle_takes_the_trial_of_the_models_that_it_draws(model: LanguageModel) -> None:
    other = factories.language_model()
    note(model, *["upstream"] * FAILURES_TO_REST)
    end_of_rest(model)
    battles.battle_start(owner=factories.user(), prompt="Hello?")
    model.refresh_from_db()
    assert not model.is_available
    assert other.is_available


def test_a_battle_by_name_may_ask_a_model_that_rests(model: LanguageModel) -> None:
    other = factories.language_model()
    note(model, *["upstream"] * FAILURES_TO_REST)
    begun = battles.battle_start(
        owner=factories.user(), prompt="Hello?", mode=Battle.Mode.NAMED, models=[model.slug, other.slug]
    )
    assert len(begun.requests) == 2
