"""The overview of the last days: right sums, for administrators only, in as many queries for much as for little."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from arena_project.attention import Disk, attention_now
from arena_project.model_figures import models_since
from arena_project.overview import EndpointState, changes, charts_since, endpoint_states, figures_between
from battles.models import Battle, Preference, Response
from battles.services import preference_record
from providers.engines.services import engine_create, engine_note
from providers.engines.states import Report, State
from providers.models import Usage
from tests import factories

pytestmark = pytest.mark.django_db


def some_days(battles: int) -> None:
    person = factories.user()
    for number in range(battles):
        battle = factories.battle(person)
        preference_record(battle_id=battle.pk, voter=person, choice="a")
        model = battle.sides.all()[0].model
        Usage.objects.create(
            day=timezone.now().date(), model=model, user=person, requests=4, failures=1, cost=Decimal("0.5"),
            input_tokens=10, output_tokens=20,
        )  # fmt: skip
        Response.objects.filter(turn__battle=battle, side__label="a").update(error_kind="timeout")
        if number % 2:
            Battle.objects.filter(pk=battle.pk).update(created_at=timezone.now() - timedelta(days=10))


def test_the_sums_are_those_of_the_span() -> None:
    some_days(4)
    Preference.objects.filter(pk=Preference.objects.latest("pk").pk).update(exclusion="admin")
    now = timezone.now()
    week, month = figures_between(now - timedelta(days=7)), figures_between(now - timedelta(days=30))
    assert (week.battles, month.battles) == (2, 4)
    assert (week.votes, week.votes_left_out) == (4, 1)
    assert (week.people_active, week.people_new, week.answers, week.failures) == (1, 1, 16, 4)
    assert (week.cost, week.tokens_in, week.tokens_out, week.failed_percent) == (2.0, 40, 80, 25.0)
    charts = charts_since(now - timedelta(days=30), hourly=False)
    activity = charts["activity"].table().rows
    assert sum(float(row[2] or 0) for row in activity if row[0] == "Battles") == 4  # type: ignore[arg-type]
    assert len(activity) == 2 * 31
    assert charts["errors"].table().rows[0][:2] == ("timeout", 4.0)


def test_a_span_is_compared_with_the_one_before() -> None:
    some_days(4)  # two of them ten days ago
    now = timezone.now()
    week, before = (
        figures_between(now - timedelta(days=7)),
        figures_between(now - timedelta(days=14), now - timedelta(days=7)),
    )
    assert (week.battles, before.battles, before.answers) == (2, 2, 0)
    told = changes(week, before)
    assert told["battles"] == "+0 %"
    assert "answers" not in told
    Battle.objects.filter(pk=Battle.objects.order_by("-created_at")[0].pk).delete()
    assert changes(figures_between(now - timedelta(days=7)), before)["battles"] == "\N{MINUS SIGN}50 %"


def test_usage_is_that_of_as_many_days_and_is_not_compared() -> None:
    some_days(1)
    usage, now = Usage.objects.get(), timezone.now()
    for ago in (1, 7, 8):
        past = (now - timedelta(days=ago)).date()
        Usage.objects.create(day=past, model=usage.model, user=usage.user, requests=100)
    day, week = figures_between(now - timedelta(days=1)), figures_between(now - timedelta(days=7))
    assert (day.answers, week.answers) == (4, 104)
    before = figures_between(now - timedelta(days=14), now - timedelta(days=7))
    assert before.answers == 200
    assert set(changes(week, before)) <= {"battles", "votes"}


def test_a_model_s_row_says_how_much_how_fast_and_for_how_much() -> None:
    some_days(2)
    now = timezone.now()
    Response.objects.update(started_at=now, first_token_ms=200, latency_ms=1200, output_tokens=50)
    slow = Response.objects.all()[0]
    Response.objects.filter(pk=slow.pk).update(started_at=now - timedelta(days=9), first_token_ms=9_000)
    rows = {row.name: row for row in models_since(now - timedelta(days=7))}
    assert len(rows) == 2
    for row in rows.values():
        assert (row.answers, row.failures, row.failed_percent, row.cost) == (4, 1, 25.0, 0.5)
    timed = [row for row in rows.values() if row.first_token_ms is not None]
    assert {row.first_token_ms for row in timed} == {200}
    assert {row.tokens_a_second for row in timed} == {50}


def test_what_wants_attention_is_named_and_the_worst_comes_first() -> None:
    well = EndpointState("good", "", 1, 0)
    room = Disk(60, 100)
    assert attention_now(endpoints=[well], answers=100, failed_percent=1, jobs_failed=0, backlog=0, disk=room) == []
    found = attention_now(
        endpoints=[EndpointState("down", "Does not answer", 1, 0), EndpointState("tired", "", 3, 2)],
        answers=100, failed_percent=25, jobs_failed=1, backlog=80, disk=Disk(5, 100),
    )  # fmt: skip
    assert [each.words for each in found] == [
        "The disk of the data folder has 5 % left.",
        "80 background tasks wait. Is a worker there?",
        "down: Does not answer.",
        "25 of 100 answers failed in this time.",
        "2 models of tired rest after failures.",
        "1 job failed in this time.",
    ]


def test_trouble_comes_first() -> None:
    factories.language_model(endpoint=factories.endpoint("a-good-one"))
    factories.endpoint("broken", is_reachable=False)
    factories.endpoint("off", is_enabled=False)
    factories.endpoint("without-key", needs_key=True)
    states = [(state.name, state.problem, state.models) for state in endpoint_states()]
    assert states == [("broken", "Does not answer", 0), ("a-good-one", "", 1)]


def test_engines_of_ours_say_how_they_are_and_why() -> None:
    report = Report(State.FAILED, "The disk is full. It is started again in 4 s.")
    for slug, port, seen in (("full", 8101, True), ("unseen", 8102, False)):
        engine_create(slug=slug, model="m", port=port)
        if seen:
            engine_note(slug=slug, report=report)
    told = {state.name: (state.problem, state.now) for state in endpoint_states()}
    assert told["Engine full"] == ("Does not answer", "Failed: The disk is full. It is started again in 4 s.")
    assert told["Engine unseen"][1] == "Stopped: Nobody looks after it: start manage.py engines run."


def test_only_administrators_see_it_and_much_takes_no_more_queries_than_little() -> None:
    person = Client()
    person.force_login(factories.user())
    assert person.get("/admin/overview/").status_code == 302
    client = Client()
    client.force_login(factories.staff())
    assert "Nothing has happened" in client.get("/admin/overview/").content.decode()

    def queries() -> int:
        cache.clear()
        with CaptureQueriesContext(
            connection,
        ) as caught:
            assert client.get("/admin/overview/?days=30").status_code == 200
        return len(caught)

    some_days(1)
    few = queries()
    some_days(5)
    assert queries() == few <= 25
    with CaptureQueriesContext(connection) as kept:
        page = client.get("/admin/overview/?days=30").content.decode()
    assert len(kept) < few
    assert "<svg" in page
    assert client.get("/admin/overview/?days=drop").status_code == 200
    assert "overview" in client.get("/admin/").content.decode()
