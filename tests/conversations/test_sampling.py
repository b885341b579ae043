"""The parameters of an experiment vary: every combination is planned, priced, asked for, logged and told apart."""

import csv
import io
import json
from collections import Counter
from itertools import product
from typing import Any

import pyarrow.parquet
import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from accounts import jobs
from conversations.errors import ConversationInvalid, ExperimentInvalid
from conversations.experiments import export, services
from conversations.experiments.plan import Grid, Rates, cells, estimate, grid_read, samplings_of, size_of
from conversations.experiments.sample import in_order
from conversations.models import Agent, Experiment, Turn
from conversations.sampling import SAMPLED, sampling_words
from conversations.services import scenarios_seed
from providers.adapters.base import Sampling
from tests import factories
from tests.conversations import rows
from tests.fakes.upstream import Upstream

VARIED = {"temperature": [0.2, 0.7], "top_p": [0.5, None], "max_tokens": [16, 24]}
PLAN = {"name": "v", "models": ["steady"], "scenarios": ["fractions"], "turns": 2} | VARIED
Asked = tuple[float | None, float | None, int | None]
ALL: set[Asked] = set(product(*VARIED.values()))  # type: ignore[arg-type]


def played(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    monkeypatch.setattr(jobs, "_enqueue", lambda job: None)
    scenarios_seed()
    factories.language_model("steady", endpoint=factories.endpoint(base_url=upstream.url))
    made = services.experiment_create(owner=factories.user(), given=PLAN)
    play(made)
    return made


def play(made: Experiment) -> None:
    job = services.experiment_start(experiment_id=made.pk, owner=made.owner)
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    assert job.state == "done", job.error


def asked_for(upstream: Upstream) -> Counter[Asked]:
    values = (tuple(one.sampling.get(name) for name in SAMPLED) for one in upstream.asked("steady"))
    return Counter(values)  # type: ignore[arg-type]


def written(made: Experiment, name: str) -> bytes:
    return b"".join(export.FORMATS[name].write(made))


@pytest.mark.django_db(transaction=True)
def test_every_combination_is_asked_for_logged_and_goes_on_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with Upstream() as upstream:
        made = played(upstream, monkeypatch)
        assert asked_for(upstream) == dict.fromkeys(ALL, 2)
        gone = made.conversations.order_by("cell")[3:5]
        missing = [tuple(getattr(agent.sampling, name) for name in SAMPLED) for agent in Agent.objects.filter(
            conversation__in=gone, side="a"
        )]  # fmt: skip
        Turn.objects.filter(conversation__in=list(gone)).delete()
        made.conversations.filter(pk__in=[one.pk for one in gone]).delete()
        upstream.requests.clear()
        play(Experiment.objects.get(pk=made.pk))
        assert asked_for(upstream) == dict.fromkeys(missing, 2)
    log = [json.loads(line) for line in written(made, "jsonl").decode().splitlines()]
    assert Counter(tuple(row[name] for name in SAMPLED) for row in log) == dict.fromkeys(ALL, 2)
    table = list(csv.DictReader(io.StringIO(written(made, "csv").decode())))
    assert {(row["temperature"], row["top_p"], row["max_tokens"]) for row in table} == {
        (str(one), "" if other is None else str(other), str(most)) for one, other, most in ALL
    }
    parquet = pyarrow.parquet.read_table(io.BytesIO(written(made, "parquet")))
    assert [str(parquet.schema.field(name).type) for name in SAMPLED] == ["double", "double", "int64"]
    assert parquet.to_pylist() == log
    manifest = json.loads(written(made, "manifest"))
    assert {name: manifest["grid"][name] for name in SAMPLED} == VARIED
    again = services.experiment_create(owner=made.owner, given=manifest["grid"])
    assert list(cells(grid_read(again.grid))) == list(cells(grid_read(made.grid)))


@pytest.mark.django_db(transaction=True)
def test_the_pages_tell_the_combinations_apart(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    with Upstream() as upstream:
        made = played(upstream, monkeypatch)
    client.force_login(made.owner)
    page = client.get(f"/conversations/experiments/{made.pk}/")
    assert [row.sampling for row in page.context["table"].rows] == [
        sampling_words(one) for one in samplings_of(grid_read(made.grid))
    ]
    address = f"/conversations/experiments/{made.pk}/analyse/"
    groups = {
        "temperature": ["0.2", "0.7"], "top_p": ["0.5", "default"], "max_tokens": ["16", "24"],
        "sampling": [
            f"temperature {one}{other}, max_tokens {most}"
            for one, most, other in sorted(product((0.2, 0.7), (16, 24), ("", ", top_p 0.5")))
        ],
    }  # fmt: skip
    for by, names in groups.items():
        looked = client.get(address, {"measure": "output_tokens", "by": by}).context["looked"]
        assert sorted(one.group for one in looked.summaries) == sorted(names)
        assert {one.turns for one in looked.summaries} == {16 // len(names)}


def test_numbers_in_names_are_in_their_order() -> None:
    assert in_order({"10", "9", "default", "0.5"}) == ["0.5", "9", "10", "default"]
    assert in_order(["max_tokens 120", "max_tokens 60"]) == ["max_tokens 60", "max_tokens 120"]


@given(*(st.lists(st.sampled_from(values), min_size=1, max_size=4) for values in VARIED.values()))
def test_the_size_is_that_of_the_product(one: list[Any], other: list[Any], most: list[Any]) -> None:
    grid = Grid(
        name="x", models=("a",), scenarios=("s",), iterations=3, turns=1,
        temperature=tuple(one), top_p=tuple(other), max_tokens=tuple(most),
    )  # fmt: skip
    made = list(cells(grid))
    assert len(made) == size_of(grid) == 3 * len(set(one)) * len(set(other)) * len(set(most))
    assert len({(cell.sampling, cell.iteration) for cell in made}) == len(made)


def test_a_product_that_cannot_be_made_is_counted_all_the_same() -> None:
    many = tuple(at / 100_000 for at in range(1, 100_001))
    grid = Grid(name="x", models=("a",), scenarios=("s",), temperature=many, top_p=many)
    assert size_of(grid) == 10_000_000_000


def test_turns_that_are_cut_off_earlier_take_less() -> None:
    def takes(*limits: int | None) -> Any:
        grid = Grid(name="x", models=("a",), scenarios=("s",), turns=2, max_tokens=limits)
        return estimate(grid, {"a": Rates(100, 10.0, 1.0, 1.0, most=80)}, system_tokens=0, at_once=1)

    own, short, both = takes(None), takes(20), takes(None, 20)
    assert (own.output_tokens, own.input_tokens, own.seconds) == (160, 80, 16)
    assert (short.output_tokens, short.input_tokens, short.seconds) == (40, 20, 4)
    assert (both.output_tokens, both.input_tokens, both.seconds) == (200, 100, 20)
    assert takes(1_000).output_tokens == 200


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("temperature", [0.1, 9], "from 0 to 5"), ("temperature", float("nan"), "from 0 to 5"),
        ("top_p", 0, "above 0"), ("top_p", [0.5, 1.1], "above 0"), ("top_p", [], "above 0"),
        ("max_tokens", [10, 0], "from 1 to 32,000"), ("max_tokens", 1.5, "Expected `int"),
        ("max_tokens", "many", "Expected `int"), ("top_p", True, "Expected `float"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_are_refused_with_their_key(key: str, value: Any, says: str) -> None:
    with pytest.raises(ExperimentInvalid, match=says) as refused:
        grid_read({"name": "x", "models": ["a"], "scenarios": ["s"], key: value})
    assert list(refused.value.fields) == [key]


def test_one_value_stands_for_a_list_of_one() -> None:
    grid = grid_read({"name": "x", "models": ["a"], "scenarios": ["s"], "top_p": 0.9, "max_tokens": None})
    assert (grid.temperature, grid.top_p, grid.max_tokens) == ((0.7,), (0.9,), (None,))


@pytest.mark.django_db
def test_an_agent_of_a_conversation_of_ones_own_has_them_too() -> None:
    row = rows.conversation(agents=rows.agents(Sampling(temperature=0.1, top_p=0.4, max_tokens=9)))
    assert {agent.sampling for agent in row.agents.all()} == {Sampling(temperature=0.1, top_p=0.4, max_tokens=9)}
    with pytest.raises(ConversationInvalid, match="top_p"):
        rows.conversation(agents=rows.agents(Sampling(top_p=1.5)))


@pytest.mark.django_db
def test_the_form_shows_the_values_of_a_plan(client: Client) -> None:
    scenarios_seed()
    factories.language_model("steady")
    made = services.experiment_create(owner=factories.user(), given=PLAN)
    client.force_login(made.owner)
    page = client.get(f"/conversations/experiments/new/?from={made.pk}").content.decode()
    for name, value in (("temperature", "0.2, 0.7"), ("top_p", "0.5, default"), ("max_tokens", "16, 24")):
        assert f'name="{name}" value="{value}"' in page
    empty = client.get("/conversations/experiments/new/").content.decode()
    assert 'name="temperature" value="0.7"' in empty
    assert 'name="top_p" value=""' in empty
