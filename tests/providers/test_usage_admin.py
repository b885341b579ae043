"""The operator sees what everybody used, filtered by period, and takes it away as CSV."""

import csv
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from providers.services import generation_note
from tests import factories
from tests.providers.records import ended

pytestmark = pytest.mark.django_db

LIST, CSV = reverse("admin:providers_usage_changelist"), reverse("admin:providers_usage_csv")


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(factories.staff())
    return client


def rows(answer: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.content.decode())))  # type: ignore[attr-defined]


def test_the_csv_holds_every_row_with_names_and_costs(operator: Client) -> None:
    model = factories.language_model("one", endpoint=factories.endpoint("somewhere"))
    generation_note(model_id=model.pk, user_id=factories.user("ann").pk, record=ended())
    generation_note(model_id=model.pk, user_id=None, record=ended(cost=Decimal("0.00000001")))
    answer = operator.get(CSV)
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert 'filename="usage.csv"' in answer.headers["Content-Disposition"]
    found = sorted(rows(answer), key=lambda row: row["user"])
    assert [(row["user"], row["model"], row["endpoint"], row["output_tokens"]) for row in found] == [
        ("", "one", "somewhere", "20"),
        ("ann", "one", "somewhere", "20"),
    ]
    assert [Decimal(row["cost_usd"]) for row in found] == [Decimal("0.00000001"), Decimal("0.03")]


def test_list_and_csv_obey_the_same_filters(operator: Client) -> None:
    now = datetime.now(UTC)
    before = now - timedelta(days=400)
    model, other = factories.language_model("recent"), factories.language_model("older")
    generation_note(model_id=model.pk, user_id=None, record=ended())
    generation_note(model_id=other.pk, user_id=None, record=ended(finished_at=before, cost=Decimal("0.5")))
    period = {"day__gte": f"{now - timedelta(days=1):%Y-%m-%d}", "day__lt": f"{now + timedelta(days=1):%Y-%m-%d}"}
    assert [row["model"] for row in rows(operator.get(CSV, period))] == ["recent"]
    assert "0.0300 US dollars" in operator.get(LIST, period).content.decode()
    page = operator.get(LIST).content.decode()
    assert "2 answers" in page
    assert "0.5300 US dollars" in page
    assert f'{CSV}?"' in page


def test_a_name_that_is_a_formula_does_not_run(operator: Client) -> None:
    person = factories.user("=HYPERLINK('//tracker.invalid')")
    generation_note(model_id=factories.language_model().pk, user_id=person.pk, record=ended())
    assert rows(operator.get(CSV))[0]["user"] == "'" + person.username


def test_only_operators_get_it_and_nobody_edits_it(client: Client) -> None:
    client.force_login(factories.user(is_staff=True))
    assert client.get(CSV).status_code == 403
    client.force_login(factories.staff())
    assert client.post(CSV).status_code == 405
    assert client.get(reverse("admin:providers_usage_add")).status_code == 403
