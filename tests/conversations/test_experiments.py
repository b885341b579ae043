"""Experiments: planned and priced before anything is asked, and gone on with after a worker was killed."""

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from accounts import jobs
from common.errors import NotFound
from conversations.errors import ExperimentInvalid, StillSpeaking
from conversations.experiments import services
from conversations.experiments.plan import Grid, Rates, cells, estimate, grid_read, pairs_of, size_of
from conversations.files.log import SEED_COLUMNS
from conversations.models import Agent, Scenario
from conversations.services import scenario_edit, scenarios_seed
from providers.models import LanguageModel
from tests import factories
from tests.fakes.upstream import Upstream
from tests.live import Person, Window
from tests.server import ROOT, Server

YAML = """
name: {name}
models: [axolotl-{one}, axolotl-{other}]
pairs: {pairs}
self_pairs: false
scenarios: [night-bus, fractions]
iterations: {iterations}
turns: {turns}
temperature: [0.2]
seed: 5
"""


@given(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), st.sampled_from(["ordered", "unordered"]),
    st.booleans(), st.integers(1, 3), st.lists(st.sampled_from([0.1, 0.5, 1.0]), min_size=1, max_size=3),
)  # fmt: skip
def test_the_size_is_known_without_making_the_plan(
    models: list[str], pairs: Any, self_pairs: bool, iterations: int, temperature: list[float]
) -> None:
    grid = Grid(
        name="x", models=tuple(models), pairs=pairs, self_pairs=self_pairs, scenarios=("s", "t"), seed=0,
        iterations=iterations, temperature=tuple(temperature),
    )  # fmt: skip
    made = list(cells(grid))
    assert len(made) == size_of(grid)
    assert [cell.number for cell in made] == list(range(len(made)))
    assert len({(c.model_a, c.model_b, c.scenario, c.sampling, c.iteration) for c in made}) == len(made)
    if pairs == "unordered":
        assert all((other, one) not in pairs_of(grid) for one, other in pairs_of(grid) if one != other)


def test_a_price_by_hand() -> None:
    grid = Grid(name="x", models=("a", "b"), pairs="unordered", self_pairs=False, scenarios=("s",), turns=3)
    rates = {"a": Rates(10, 1.0, 1.0, 2.0), "b": Rates(20, 2.0, 3.0, 4.0)}
    means = estimate(grid, rates, system_tokens=5, at_once=4)
    # a is asked with 5 and says 10, b with 15 and says 20, a with 35 and says 10
    assert (means.input_tokens, means.output_tokens, means.turns) == (55, 40, 3)
    assert means.cost == round((5 + 20 + 45 + 80 + 35 + 20) / 1e6, 4)
    assert means.seconds == 4


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "name"), ({"name": "x", "scenarios": [], "models": ["a"]}, "scenario"),
        ({"name": "x", "scenarios": ["s"], "models": []}, "model"), ({"name": "x", "scenarios": "s"}, "array"),
        ({"name": "x", "scenarios": ["s"], "models": ["a"], "self_pairs": False}, "no pair"),
        ({"name": "x", "scenarios": ["s"], "models": ["a"], "turns": 0}, "Turns"),
        ({"name": "x", "scenarios": ["s"], "models": ["a"], "temperature": [9]}, "temperature"),
        ({"name": "x", "scenarios": ["s"], "pairs": "listed"}, "listed"),
        ({"name": "x", "scenarios": ["s"], "models": ["a"], "modles": []}, "modles"),
    ],
)  # fmt: skip
def test_a_grid_that_cannot_be_is_refused_in_words(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ExperimentInvalid, match=says):
        grid_read(given)


@pytest.mark.xdist_group("server")
def test_a_dry_run_prices_and_asks_nothing(person: Person, upstream: Upstream) -> None:
    before = len(upstream.requests)
    grid = {"name": "p", "models": ["axolotl-steady", "axolotl-other"], "scenarios": ["gossip"], "dry_run": True}
    assert person.call("POST", "experiments/", grid)[0] == 404
    grid["scenarios"] = ["the-new-colleague", "fractions"]
    status, means = person.call("POST", "experiments/", grid | {"iterations": 3, "turns": 6})
    assert status == 200, means
    assert (means["estimate"]["conversations"], means["estimate"]["turns"]) == (24, 144)
    assert means["estimate"]["cost"] > 0
    status, refused = person.call("POST", "experiments/", grid | {"iterations": 1_000_000})
    assert status == 400
    assert "8,000,000" in refused["error"]["message"]
    assert "10,000" in refused["error"]["message"]
    # Other tests' conversations may still be under way.
    assert not [asked for asked in upstream.requests[before:] if "fraction" in str(asked.messages)]


def _file(folder: Path, **values: Any) -> Path:
    path = folder / "grid.yaml"
    wanted = {"name": "first", "one": "steady", "other": "other", "pairs": "ordered", "iterations": 2, "turns": 3}
    path.write_text(YAML.format(**wanted | values))
    return path


@pytest.mark.xdist_group("server")
def test_a_yaml_file_is_played_to_a_log_that_opens_as_documented(server: Server, tmp_path: Path) -> None:
    assert "8 conversations, 24 turns" in server.manage("experiment_run", str(_file(tmp_path)), "--dry-run")
    said = server.manage("experiment_run", str(_file(tmp_path)), "--output-dir", str(tmp_path / "out"))
    assert "8 of 8 conversations have ended, 24 turns" in said
    rows = [json.loads(line) for line in (tmp_path / "out" / "experiment_log.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    assert tuple(rows[0])[: len(SEED_COLUMNS)] == SEED_COLUMNS
    assert [row["turn_id"] for row in rows] == [1, 2, 3] * 8
    assert len({row["conversation"] for row in rows}) == 8
    assert {row["seed"] for row in rows} == set(range(5, 13))
    table = list(csv.DictReader(io.StringIO((tmp_path / "out" / "experiment_log.csv").read_text())))
    assert [row["content"] for row in table] == [row["content"] for row in rows]
    typed = pyarrow.parquet.read_table(tmp_path / "out" / "experiment_log.parquet")
    assert typed.to_pylist() == rows
    assert [str(typed.schema.field(name).type) for name in SEED_COLUMNS] == [
        "string", "int64", "string", "string", "string", "string", "int64", "int64", "int64", "string", "bool",
    ]  # fmt: skip
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert size_of(grid_read(manifest["grid"])) == 8
    assert manifest["grid"]["scenario_versions"] == {"night-bus": 1, "fractions": 1}


@pytest.mark.xdist_group("server")
def test_a_worker_that_is_killed_loses_a_turn_at_most_and_repeats_none(
    server: Server, upstream: Upstream, tmp_path: Path
) -> None:
    def asked() -> int:
        return len(upstream.asked("slow-markdown")) + len(upstream.asked("thinker"))

    before = asked()
    path = _file(tmp_path, one="thinker", other="slow-markdown", iterations=1, turns=4, pairs="unordered", name="k")
    command = [sys.executable, "manage.py", "experiment_run", str(path)]
    worker = subprocess.Popen(command, cwd=ROOT, env=server.environment, stdout=subprocess.PIPE, text=True)
    until = time.monotonic() + 120
    while asked() < before + 4:
        assert time.monotonic() < until
        time.sleep(0.02)
    worker.send_signal(signal.SIGKILL)
    said, _ = worker.communicate()
    id_ = said.split("Experiment ")[1].split()[0]
    again = server.manage("experiment_run", "--resume", id_, "--output-dir", str(tmp_path / "out"))
    assert "2 of 2 conversations have ended, 8 turns" in again
    rows = [json.loads(line) for line in (tmp_path / "out" / "experiment_log.jsonl").read_text().splitlines()]
    assert [row["turn_id"] for row in rows] == [1, 2, 3, 4] * 2
    assert all(row["status"] == "finished" for row in rows)
    assert 8 <= asked() - before <= 8 + 2  # two conversations were under way


@pytest.mark.xdist_group("server")
def test_a_cell_that_fails_costs_no_other(server: Server, tmp_path: Path) -> None:
    path = _file(tmp_path, one="steady", other="missing-404", iterations=1, turns=2, name="f")
    with pytest.raises(RuntimeError) as failed:
        server.manage("experiment_run", str(path))
    assert "0 of 4 conversations have ended, 2 turns" in str(failed.value)
    assert "--resume" in str(failed.value)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "says"), [("name: [", "line"), ("nmae: x", "line 1: nmae"), ("- 3", "keys"), ("name: x", "scenarios")]
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    factories.staff()
    (tmp_path / "bad.yaml").write_text(text)
    with pytest.raises(CommandError, match=says):
        call_command("experiment_run", str(tmp_path / "bad.yaml"))


@pytest.mark.django_db(transaction=True)
def test_a_job_plays_it_and_a_cancelled_one_goes_on(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_enqueue", lambda job: None)
    scenarios_seed()
    owner, endpoint = factories.user(), factories.endpoint(base_url=upstream.url)
    for slug in ("steady", "fails-once"):
        factories.language_model(slug, endpoint=endpoint)
    grid = {"name": "j", "models": ["steady"], "scenarios": ["gossip-1", "fractions"], "turns": 2}
    with pytest.raises(NotFound):
        services.experiment_create(owner=owner, given=grid)
    made = services.experiment_create(owner=owner, given=grid | {"scenarios": ["fractions"], "iterations": 3})
    job = services.experiment_start(experiment_id=made.pk, owner=owner)
    with pytest.raises(StillSpeaking):
        services.experiment_start(experiment_id=made.pk, owner=owner)
    services.experiment_cancel(experiment_id=made.pk, owner=owner)
    job = services.experiment_start(experiment_id=made.pk, owner=owner)
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    assert job.state == "done", job.error
    assert job.result["ended"] == job.result["conversations"] == 3
    assert job.result["turns"] == 6


@pytest.mark.django_db
def test_a_scenario_that_is_edited_leaves_an_experiment_its_version() -> None:
    scenarios_seed()
    owner = factories.staff()
    factories.language_model("one")
    made = services.experiment_create(owner=owner, given={"name": "v", "models": ["one"], "scenarios": ["fractions"]})
    scenario_edit(slug="fractions", editor=owner, values={"opening": "Changed."})
    services.conversations_make(experiment=made)
    conversation = made.conversations.get()
    assert conversation.scenario is not None
    assert conversation.scenario.version == 1
    assert conversation.seed_prompt != "Changed."
    services.conversations_make(experiment=made)
    assert made.conversations.count() == 1


@pytest.mark.django_db
def test_what_is_missing_of_a_plan_is_made_though_a_model_has_gone() -> None:
    scenarios_seed()
    owner = factories.user()
    for slug in ("stays", "retires", "leaves"):
        factories.language_model(slug)
    grid = {"name": "g", "models": ["stays", "retires", "leaves"], "scenarios": ["fractions"], "pairs": "unordered"}
    made = services.experiment_create(owner=owner, given=grid)
    services.conversations_make(experiment=made)
    made.conversations.exclude(cell=5).delete()
    LanguageModel.objects.filter(slug="retires").update(status=LanguageModel.Status.RETIRED)
    LanguageModel.objects.get(slug="leaves").delete()
    assert services.conversations_make(experiment=made) == 6
    agents = Agent.objects.filter(conversation__experiment=made, model=None)
    assert set(agents.values_list("model_slug", flat=True)) == {"leaves"}
    assert all(conversation.seed_prompt for conversation in made.conversations.all())


@pytest.mark.django_db
def test_what_cannot_be_gone_on_with_is_said_in_words() -> None:
    scenarios_seed()
    factories.language_model("one")
    given = {"name": "s", "models": ["one"], "scenarios": ["fractions"]}
    made = services.experiment_create(owner=factories.user(), given=given)
    for id_ in ("nonsense", "00000000-0000-0000-0000-000000000000"):
        with pytest.raises(CommandError, match="no such experiment"):
            call_command("experiment_run", resume=id_)
    Scenario.objects.filter(slug="fractions").delete()
    with pytest.raises(CommandError, match="no scenario “fractions” in the version"):
        call_command("experiment_run", resume=str(made.pk), stdout=io.StringIO())


@pytest.mark.django_db
def test_a_hundred_conversations_are_made_in_few_queries(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    scenarios_seed()
    factories.language_model("one")
    given = {"name": "m", "models": ["one"], "scenarios": ["fractions"], "iterations": 100}
    made = services.experiment_create(owner=factories.user(), given=given)
    with django_assert_max_num_queries(16):  # SQLite takes the rows in several groups
        assert services.conversations_make(experiment=made) == 100


@pytest.mark.xdist_group("server")
def test_a_turn_is_seen_while_a_worker_writes_it(server: Server, tmp_path: Path) -> None:
    boss = Person(server, server.accounts[0])
    path = _file(tmp_path, one="slow", other="slow-markdown", iterations=1, turns=1, pairs="unordered", name="w")
    command = [sys.executable, "manage.py", "experiment_run", str(path)]
    worker = subprocess.Popen(command, cwd=ROOT, env=server.environment, stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    id_ = next(line for line in worker.stdout if line.startswith("Experiment")).split()[1]
    spots: list[str] = []
    until = time.monotonic() + 120
    while not spots:
        assert time.monotonic() < until
        page = boss.page(f"/conversations/experiments/{id_}/")
        spots = re.findall(r'class="spot running" id="spot-([0-9a-f-]+)"', page)
    seen: list[str] = []  # with Redis by pieces, without it by looks at what the worker stores for those who look on
    with Window(boss, spots[0], "conversations") as window:
        while not seen or seen[-1] != "finished":
            frame = window.next()
            turns = [frame["turn"]] if "turn" in frame else frame.get("conversation", {}).get("turns", [])
            seen += [f"{turn['status']} {len(turn['text'])}" for turn in turns if turn["status"] == "streaming"]
            seen += ["piece"] * (frame["type"] in ("delta", "block"))
            ended = frame["type"] == "finished" or any(turn["status"] == "finished" for turn in turns)
            seen += ["finished"] * ended
    assert len(set(seen)) >= 3 or seen.count("piece") >= 3
    assert worker.wait(60) == 0
