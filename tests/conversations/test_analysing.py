"""What an experiment shows, on examples by hand, and on its page."""

import csv
import io
from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import User
from conversations.experiments import sample, services
from conversations.experiments.analysing import Fact, compare, compare_all, holm, summarise
from conversations.experiments.figures import BESIDE, FIGURES, GROUPS, MEASURES
from conversations.models import Experiment, Turn
from conversations.sampling import SAMPLED
from conversations.services import scenarios_seed
from providers.models import LanguageModel
from tests import factories


def _facts(**groups: list[list[float]]) -> list[Fact]:
    return [
        Fact(group, f"{group}{at}", value)
        for group, conversations in groups.items()
        for at, values in enumerate(conversations)
        for value in values
    ]


def test_a_distribution_by_hand() -> None:
    (one,) = summarise(_facts(a=[[1, 2], [3, 4], [5]]))
    assert (one.turns, one.conversations, one.mean, one.median, one.first, one.third) == (5, 3, 3, 3, 2, 4)
    assert one.lower is not None
    assert one.upper is not None
    assert 1.5 <= one.lower < 3 < one.upper <= 5
    assert summarise(_facts(a=[[1, 2], [3]]))[0].lower is None


def test_the_interval_covers_the_mean_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(3)
    held = 0
    for _ in range(100):
        conversations = [[float(10 + shift + random.normal()) for _ in range(4)] for shift in random.normal(size=25)]
        (one,) = summarise(_facts(a=conversations))
        assert one.lower is not None
        assert one.upper is not None
        held += one.lower <= 10 <= one.upper
    assert 86 <= held <= 100


def test_two_groups_by_hand_and_the_other_way_round() -> None:
    facts = _facts(a=[[1], [2], [3]], b=[[4], [5], [6]])
    found, turned = compare(facts, "a", "b"), compare(facts, "b", "a")
    assert found is not None
    assert turned is not None
    assert (found.delta, found.difference, found.size) == (-1, -3, "large")
    assert (turned.delta, turned.p) == (1, found.p)
    assert found.p == pytest.approx(0.1)  # 2 of the 20 ways to choose three of six
    same = compare(_facts(a=[[1]] * 3, b=[[1]] * 3), "a", "b")
    assert same is not None
    assert (same.delta, same.p, same.size) == (0, 1, "negligible")
    assert compare(_facts(a=[[1], [2]], b=[[1], [2]]), "a", "b") is None


def test_groups_that_speak_in_the_same_conversations_are_drawn_together() -> None:
    # In each conversation b has one more than a, however much the conversations differ.
    facts = [Fact(group, at, 10.0 * at + more) for at in range(8) for group, more in (("a", 0), ("b", 1))]
    found = compare(facts, "b", "a")
    assert found is not None
    assert (found.difference, found.lower, found.upper) == pytest.approx((1, 1, 1))
    apart = compare([Fact(f.group, (f.group, f.conversation), f.value) for f in facts], "b", "a")
    assert apart is not None
    assert apart.lower < -10 < 10 < apart.upper


def test_the_interval_of_a_difference_covers_it_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    held = 0
    for _ in range(100):
        facts = _facts(
            a=[[float(3 + shift + random.normal())] * 2 for shift in random.normal(size=20)],
            b=[[float(shift + random.normal())] * 2 for shift in random.normal(size=30)],
        )
        found = compare(facts, "a", "b")
        assert found is not None
        held += found.lower <= 3 <= found.upper
    assert 86 <= held <= 100


def test_many_comparisons_hold_each_of_them_to_more() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    groups = {name: [[float(start + at)] for at in range(4)] for start, name in enumerate("abc")}
    found = compare_all(_facts(**groups), "abc")
    assert [(one.first, one.second) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(one.p_held >= one.p for one in found)


@pytest.fixture
def made() -> Experiment:
    """Two models in two scenarios, three times over, two turns each: 24 conversations."""
    scenarios_seed()
    return played("x")


def played(name: str, owner: User | None = None, *, slower: int = 0) -> Experiment:
    models = {slug: slug for slug in ("one", "other")}
    for slug in models:
        if not LanguageModel.objects.filter(slug=slug).exists():
            factories.language_model(slug)
    grid = {"name": name, "models": list(models), "scenarios": ["fractions", "night-bus"], "iterations": 3, "turns": 2}
    made = services.experiment_create(owner=owner or factories.user(), given=grid)
    services.conversations_make(experiment=made)
    Turn.objects.bulk_create(
        Turn(
            conversation=conversation, position=number, number=number, speaker="ab"[number - 1],
            model=list(conversation.agents.order_by("side"))[number - 1].model, text="two words " * number,
            status="finished", latency_ms=100 * number + slower + (conversation.cell or 0), output_tokens=number,
        )
        for conversation in made.conversations.all()
        for number in (1, 2)
    )  # fmt: skip
    made.conversations.update(state="ended")
    return made


@pytest.mark.django_db
def test_the_page_shows_every_measure_by_every_group(
    client: Client, made: Experiment, django_assert_max_num_queries: Any
) -> None:
    client.force_login(made.owner)
    for measure, by in product(MEASURES, GROUPS):
        asked = {"measure": measure, "by": by}
        with django_assert_max_num_queries(8):
            page = client.get(f"/conversations/experiments/{made.pk}/analyse/", asked)
        shown = page.content.decode()
        assert ("Cliff" in shown) is (by not in ("turn", "sampling", *SAMPLED)), asked
        assert shown.count('<figure class="chart">') == (3 if measure == "refusals" else 5), asked
        table = client.get(f"/conversations/experiments/{made.pk}/summary.csv", asked)
        rows = list(csv.DictReader(io.StringIO(table.content.decode())))
        assert sum(int(row["turns"]) for row in rows) == (24 if measure == "similarity" else 48), asked


@pytest.mark.django_db
def test_programs_read_the_figures_of_the_page(
    client: Client, made: Experiment, api_client: Callable[..., APIClient]
) -> None:
    client.force_login(made.owner)
    caller = api_client(made.owner, ("read",))
    for measure, by in product(MEASURES, GROUPS):
        asked = {"measure": measure, "by": by, "scenario": "fractions"}
        page = client.get(f"/conversations/experiments/{made.pk}/analyse/", asked).context
        read = caller.get(f"/api/v1/experiments/{made.pk}/figures/", asked).json()
        assert (read["measure"], read["by"]) == (measure, by)
        assert read["sample"] == {"turns": len(page["sample"].said), "conversations": 12, "of": 12, "is_whole": True}
        summaries = page["looked"].summaries
        assert [(one["group"], one["mean"], one["lower"], one["p95"]) for one in read["groups"]] == [
            (one.group, one.mean, one.lower, one.high) for one in summaries
        ]
        assert read["differences"] == [asdict(one) for _, one in page["comparisons"]]
    beside = {"first": str(made.pk), "first_scenario": "fractions", "second": str(made.pk), "by": "model"}
    page = client.get("/conversations/experiments/compare/", beside).context
    read = caller.get("/api/v1/experiments/compare/", beside).json()
    assert read["names"] == list(page["beside"].names)
    sides = {"first", "second"}
    assert read["differences"] == [
        {key: value for key, value in asdict(one).items() if key not in sides} | {"group": name}
        for name, one in page["beside"].comparisons
    ]
    assert [(one["group"], one["first"]["median"], one["second"]["median"]) for one in read["groups"]] == [
        (name, one.median, other.median) for name, one, other in page["beside"].summaries
    ]


@pytest.mark.django_db
def test_programs_are_refused_what_the_page_does_not_offer(
    made: Experiment, api_client: Callable[..., APIClient]
) -> None:
    address, both = f"/api/v1/experiments/{made.pk}/figures/", "/api/v1/experiments/compare/"
    same = {"first": str(made.pk), "second": str(made.pk)}
    caller = api_client(made.owner, ("read",))
    for name, value in (("measure", "x"), ("by", "x"), ("model", "x"), ("scenario", "x")):
        answer = caller.get(address, {name: value})
        assert answer.status_code == 400
        assert name in answer.json()["error"]["fields"]
    assert "Both are the same" in caller.get(both, same).content.decode()
    assert caller.get(both, same | {"first_scenario": "gossip"}).status_code == 400
    assert caller.get(both, {"first": "x"}).status_code == 400
    stranger = api_client(factories.staff(), ("read",))
    assert stranger.get(address).status_code == stranger.get(both, same).status_code == 404
    assert api_client(made.owner, ("run",)).get(address).status_code == 403


@pytest.mark.django_db
def test_only_its_owner_reads_it_and_nonsense_is_borne(client: Client, made: Experiment) -> None:
    pages = [f"/conversations/experiments/{made.pk}/{path}" for path in ("analyse/", "summary.csv", "charts/means.svg")]
    client.force_login(made.owner)
    for path in pages:
        assert client.get(path, {"measure": "nonsense", "order": "x", "page": "y"}).status_code == 200
    assert client.get(f"/conversations/experiments/{made.pk}/charts/nonsense.svg").status_code == 404
    client.force_login(factories.user())
    for path in pages:
        assert client.get(path).status_code == 404
    compared = client.get("/conversations/experiments/compare/", {"first": str(made.pk), "second": str(made.pk)})
    assert "Select a valid choice" in compared.content.decode()


@pytest.mark.django_db
def test_a_reader_drills_down_to_the_slowest_turns_of_a_group(client: Client, made: Experiment) -> None:
    client.force_login(made.owner)
    asked = {"measure": "latency_ms", "by": "model", "group": "other", "order": "high"}
    turns = client.get(f"/conversations/experiments/{made.pk}/analyse/", asked).context["turns"]
    assert {one.model for one, _ in turns} == {"other"}
    values = [one.value for one, _ in turns]
    assert values == sorted(values, reverse=True)
    assert values[0] == turns[0][1].latency_ms == 200 + 23
    only = client.get(f"/conversations/experiments/{made.pk}/analyse/", asked | {"model": "one", "by": "scenario"})
    assert {one.model for one in only.context["looked"].said} == {"one"}


@pytest.mark.django_db
def test_every_chart_can_be_had_as_a_file(client: Client, made: Experiment) -> None:
    client.force_login(made.owner)
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "csv": b""}
    for name, ending in product(FIGURES, begins):
        file = client.get(f"/conversations/experiments/{made.pk}/charts/{name}.{ending}", {"by": "scenario"})
        assert file.headers["Content-Disposition"].endswith(f'.{ending}"')
        assert file.content.startswith(begins[ending])
        assert len(file.content) > 40


@pytest.mark.django_db
def test_of_many_conversations_some_are_drawn_and_the_page_says_so(
    client: Client, made: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "CONVERSATIONS_READ", 5)
    read = sample.sample_read(made, measure="latency_ms")
    assert (len(read.said), read.conversations, read.of, read.is_whole) == (10, 5, 24, False)
    assert sample.sample_read(made, measure="similarity").conversations == 5
    assert sample.sample_read(made, measure="latency_ms") == read
    of_one = sample.sample_read(made, measure="latency_ms", scenario="fractions", model="one")
    assert (of_one.of, {one.cell.scenario for one in of_one.said}) == (9, {"fractions"})
    client.force_login(made.owner)
    page = client.get(f"/conversations/experiments/{made.pk}/analyse/").content.decode()
    assert "5 whole conversations, drawn at random from the 24 that fit" in page


@pytest.mark.django_db
def test_likeness_is_to_the_turn_before_in_the_same_conversation(made: Experiment) -> None:
    read = sample.sample_read(made, measure="similarity", model="other")
    assert {one.number for one in read.said} == {2}
    assert {round(one.value, 9) for one in read.said} == {1.0}
    diverse = {one.number: one.value for one in sample.sample_read(made, measure="diversity").said}
    assert diverse == {1: 1.0, 2: 0.5}


@pytest.mark.django_db
def test_two_experiments_and_two_scenarios_stand_beside_each_other(client: Client, made: Experiment) -> None:
    client.force_login(made.owner)
    slower = played("slower", made.owner, slower=1000)
    asked = {"first": str(slower.pk), "second": str(made.pk), "by": "model"}
    page = client.get("/conversations/experiments/compare/", asked)
    compared = dict(page.context["beside"].comparisons)
    assert list(compared) == ["All turns", "one", "other"]
    assert all(one.difference == pytest.approx(1000) for one in compared.values())
    assert compared["All turns"].delta == 1
    assert compared["All turns"].lower < 1000 < compared["All turns"].upper
    assert "3 comparisons" in page.content.decode()
    scenarios = asked | {"second": str(slower.pk), "first_scenario": "fractions", "second_scenario": "night-bus"}
    page = client.get("/conversations/experiments/compare/", scenarios)
    assert page.context["beside"].names == ("fractions", "night-bus")
    assert dict(page.context["beside"].comparisons)["All turns"].difference == pytest.approx(-1)
    for name in BESIDE:
        for measure in MEASURES:
            chart = client.get(
                f"/conversations/experiments/compare/charts/{name}.svg", scenarios | {"measure": measure}
            )
            assert chart.status_code == 200
    same = client.get("/conversations/experiments/compare/", asked | {"second": str(slower.pk)})
    assert "Both are the same" in same.content.decode()
    wrong = client.get("/conversations/experiments/compare/", asked | {"first_scenario": "nonsense"})
    assert wrong.status_code == 200
    assert "beside" not in wrong.context
    assert client.get("/conversations/experiments/compare/", {"first": "x", "second": "\0"}).status_code == 200
