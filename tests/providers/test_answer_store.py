"""An answer may serve an equal request of somebody else, once for each person, until it expires."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from battles import services as battles
from battles.models import Battle
from providers.adapters.base import Message
from providers.answer_store import PURGED_AT_ONCE, answer_kept_for
from providers.kept_answers import KeptAnswer
from providers.live_record import messages_hash, sampling_sent
from providers.models import CachedAnswer, LanguageModel, Usage
from providers.selectors import target_for
from providers.services import generation_note
from tests import factories
from tests.providers.records import ended

pytestmark = pytest.mark.django_db

QUESTION = (Message("user", "Why is the sky blue?"),)


@pytest.fixture
def model() -> LanguageModel:
    return factories.language_model(endpoint=factories.endpoint(cache_seconds=3600), temperature=0.5)


def answered(model: LanguageModel, person: factories.User | None, **fields: Any) -> None:
    """Somebody asked QUESTION and got an answer."""
    target = target_for(model)
    exact = {"messages_hash": messages_hash(target, QUESTION), "sampling": sampling_sent(target)}
    generation_note(model_id=model.pk, user_id=person.pk if person else None, record=ended(**exact | fields))


def kept_for(
    person: factories.User, model: LanguageModel, messages: tuple[Message, ...] = QUESTION
) -> KeptAnswer | None:
    return answer_kept_for(model=model, target=target_for(model), messages=messages, user_id=person.pk)


def test_somebody_else_gets_the_answer_once_and_whoever_got_it_first_never(model: LanguageModel) -> None:
    first, second = factories.user(), factories.user()
    answered(model, first)
    assert kept_for(first, model) is None
    kept = kept_for(second, model)
    assert kept is not None
    assert (kept.text, kept.output_tokens, kept.first_token_ms) == ("Because.", 20, 200)
    assert kept_for(second, model) is None


def test_several_answers_to_one_request_serve_one_after_the_other(model: LanguageModel) -> None:
    reader = factories.user()
    for text in ("One.", "Two."):
        answered(model, None, text=text)
    texts = [kept.text for kept in (kept_for(reader, model), kept_for(reader, model)) if kept]
    assert texts == ["One.", "Two."]
    assert kept_for(reader, model) is None


def test_a_model_that_is_asked_elsewhere_or_otherwise_answers_anew(model: LanguageModel) -> None:
    reader = factories.user()
    answered(model, None)
    assert model.endpoint
    for row, field, value in (
        (model, "upstream_id", "another"),
        (model, "quirks", {"extra_body": {"reasoning_effort": "high"}}),
        (model.endpoint, "base_url", "http://127.0.0.1:10/v1"),
    ):
        before = getattr(row, field)
        setattr(row, field, value)
        assert kept_for(reader, model) is None, field
        setattr(row, field, before)
    assert kept_for(reader, model) is not None


def test_another_question_sampling_or_system_prompt_is_another_request(model: LanguageModel) -> None:
    reader = factories.user()
    answered(model, None)
    assert kept_for(reader, model, (Message("user", "Why is grass green?"),)) is None
    model.temperature = 0.6
    assert kept_for(reader, model) is None
    model.temperature, model.system_prompt = 0.5, "Be brief."
    assert kept_for(reader, model) is None
    assert kept_for(reader, factories.language_model(endpoint=model.endpoint, temperature=0.5)) is None
    model.system_prompt = ""
    assert kept_for(reader, model) is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "stopped"},
        {"status": "failed", "error_kind": "upstream"},
        {"finish_reason": "length"},
        {"finish_reason": "content_filter"},
        {"is_cached": True},
    ],
)
def test_only_whole_fresh_answers_are_kept(model: LanguageModel, fields: dict[str, Any]) -> None:
    answered(model, None, **fields)
    assert not CachedAnswer.objects.exists()


def test_an_endpoint_keeps_nothing_unless_it_says_so() -> None:
    model = factories.language_model()
    answered(model, None)
    assert not CachedAnswer.objects.exists()


def test_an_expired_answer_serves_nobody_and_is_cleared_away(model: LanguageModel) -> None:
    answered(model, None)
    CachedAnswer.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert kept_for(factories.user(), model) is None
    old = CachedAnswer.objects.get()
    for number in range(PURGED_AT_ONCE):
        old.pk, old.text = None, f"Old {number}."
        old.save()
    for _ in range(2):
        answered(model, None)
    assert not CachedAnswer.objects.filter(expires_at__lt=timezone.now()).exists()
    assert CachedAnswer.objects.count() == 2


def test_a_turn_brings_the_kept_answer_along_and_a_fresh_attempt_does_not(model: LanguageModel) -> None:
    reader, other = factories.user(), factories.language_model()
    answered(model, None)
    begun = battles.battle_start(
        owner=reader, prompt="Why is the sky blue?", mode=Battle.Mode.NAMED, models=[model.slug, other.slug]
    )
    kept = {request.response.model_id: request.kept for request in begun.requests}
    assert kept[other.pk] is None
    played = kept[model.pk]
    assert played is not None
    assert played.text == "Because."
    response = next(request.response for request in begun.requests if request.kept)
    record = ended(text=played.text, is_cached=True, cost=0)
    battles.response_save(response_id=response.id, record=record)
    assert Usage.objects.get(user=reader).cached == 1
    answered(model, None)
    _, again = battles.response_regenerate(battle_id=begun.battle.id, owner=reader, label=response.side.label)
    assert again.kept is None
