"""What was asked is added up by day, model and person, whoever else adds at the same time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import connection

from providers.models import LanguageModel, Usage
from providers.services import generation_note
from tests import factories
from tests.providers.records import ended, failed


@pytest.mark.django_db
def test_a_day_of_one_person_and_model_is_one_row() -> None:
    model, person = factories.language_model(), factories.user()
    generation_note(model_id=model.pk, user_id=person.pk, record=ended())
    generation_note(model_id=model.pk, user_id=person.pk, record=failed())
    generation_note(model_id=model.pk, user_id=person.pk, record=ended(is_cached=True, cost=Decimal(0)))
    generation_note(model_id=model.pk, user_id=factories.user().pk, record=ended())
    row = Usage.objects.get(user=person)
    assert (row.requests, row.failures, row.cached) == (3, 1, 1)
    assert (row.input_tokens, row.output_tokens, row.cost) == (10, 20, Decimal("0.03"))


@pytest.mark.django_db
def test_an_answer_counts_on_the_day_on_which_it_ended_in_utc() -> None:
    model, person = factories.language_model(), factories.user()
    for hour in (datetime(2026, 3, 31, 23, 59, tzinfo=UTC), datetime(2026, 4, 1, 0, 1, tzinfo=UTC)):
        generation_note(model_id=model.pk, user_id=person.pk, record=ended(finished_at=hour))
    assert set(Usage.objects.values_list("day", flat=True)) == {date(2026, 3, 31), date(2026, 4, 1)}


@pytest.mark.django_db
def test_what_is_still_being_written_does_not_count_yet() -> None:
    model = factories.language_model()
    generation_note(model_id=model.pk, user_id=None, record=ended(status="streaming"))
    assert not Usage.objects.exists()


@pytest.mark.django_db
def test_what_deleted_people_and_nobody_asked_stays_counted() -> None:
    model, first, second = factories.language_model(), factories.user(), factories.user()
    for person in (first, second):
        generation_note(model_id=model.pk, user_id=person.pk, record=ended())
        person.delete()
    for _ in range(2):
        generation_note(model_id=model.pk, user_id=None, record=ended())
    assert sum(row.requests for row in Usage.objects.filter(user=None)) == 4


@pytest.mark.django_db
def test_a_new_price_leaves_old_costs_as_they_were() -> None:
    model, person = factories.language_model(output_price="10"), factories.user()
    generation_note(model_id=model.pk, user_id=person.pk, record=ended())
    LanguageModel.objects.update(output_price="99")
    assert Usage.objects.get().cost == Decimal("0.03")


@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_where_many_answers_end_at_once() -> None:
    model, person = factories.language_model(), factories.user()
    answers = 24

    def note(number: int) -> None:
        try:
            record = ended() if number % 2 else failed("bad_request")
            generation_note(model_id=model.pk, user_id=person.pk, record=record)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(note, range(answers)))
    row = Usage.objects.get()
    assert (row.requests, row.failures) == (answers, answers // 2)
    assert row.cost == Decimal("0.03") * (answers // 2)
