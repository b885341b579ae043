"""The plan of an experiment as people give it: in the form, as a file, and from an export."""

import json
import re
import textwrap
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from common.errors import NotFound, TourneyError
from common.yaml_lines import FileInvalid
from conversations.errors import ExperimentInvalid
from conversations.experiments import services
from conversations.experiments.export import manifest
from conversations.experiments.files import GridFile
from conversations.experiments.plan import cells, grid_read, pairs_of, size_of
from conversations.models import Experiment
from conversations.services import scenario_edit, scenarios_seed
from tests import factories
from tests.server import ROOT

YAML = """name: first look
models:
  - one
  - other
scenarios: [fractions, night-bus]
iterations: 2
turns: 4
temperature: [0.2, 0.7]
"""


@pytest.fixture
def owner() -> User:
    scenarios_seed()
    for slug in ("one", "other"):
        factories.language_model(slug)
    return factories.staff()


def _create(owner: User, given: dict[str, Any]) -> Experiment:
    made = services.experiment_create(owner=owner, given=given)
    services.conversations_make(experiment=made)
    return made


def _manifest(experiment: Experiment) -> str:
    return b"".join(manifest(experiment)).decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: [", r"^line 1:"),
        ("\nnmae: x", r"^line 2: nmae is not known. Did you mean name\?"),
        ("- 3", "^line 1: a grid has keys"),
        (YAML.replace("iterations: 2", "iterations: two"), "^line 6: iterations: Expected `int`, got `str`"),
        (YAML.replace("0.7]", "hot]"), r"^line 8: temperature\[1\]: Expected `float . null`"),
        (YAML.replace("0.7]", "9]"), "^line 8: A temperature is from 0 to 5"),
        (YAML.replace("turns: 4", "turns: 0"), "^line 7: Turns are at least 1"),
        (YAML.replace("turns: 4", "turns: 1000000"), "^line 7: Max turns must be from 1 to 200"),
        (YAML.replace("- other", "- nobody"), "^line 4: The catalogue has no model “nobody”"),
        (YAML.replace("night-bus", "nowhere"), "^line 5: There is no scenario “nowhere”"),
        (YAML + "pairs: listed\nlisted:\n  - [one, other]\n  - [one, nobody]\n", "^line 12: .*no model “nobody”"),
        (YAML + "scenario_versions: {fractions: 9}\n", "^line 5: There is no scenario “fractions” in version 9"),
        (YAML + f"stop_phrase: {'x' * 201}\n", "^line 9: The stop phrase is too long"),
        (YAML + "name: again\n", "^line 9: name stands twice"),
    ],
)
def test_a_wrong_line_of_a_file_is_named(owner: User, text: str, says: str) -> None:
    with pytest.raises(FileInvalid) as refused:
        _checked(owner, text)
    assert re.search(says, str(refused.value)), str(refused.value)


@pytest.mark.django_db
def test_the_file_in_the_docs_is_taken_as_it_is_written(owner: User) -> None:
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    block = re.search(r"^    # grid.yaml\n((?:    .+\n)+)", text, re.MULTILINE)
    assert block is not None
    file = GridFile(textwrap.dedent(block[0]))
    for slug in file.grid["models"]:
        factories.language_model(slug)
    assert size_of(services.grid_check(owner=owner, given=file.grid)) == 60


def _checked(owner: User, text: str) -> None:
    file = GridFile(text)
    try:
        services.grid_check(owner=owner, given=file.grid)
    except TourneyError as error:
        raise file.located(error) from error


def test_a_grid_of_a_million_models_is_counted_and_not_made() -> None:
    many = {"name": "x", "scenarios": ["s"], "models": [f"m{n}" for n in range(100_000)]}
    with pytest.raises(ExperimentInvalid, match="10,000,000,000 conversations"):
        services.grid_check(owner=User(), given=many)


@pytest.mark.parametrize("name", ["", " ", "\u200b", "x" * 101, "a\0b"])
def test_a_name_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(ExperimentInvalid):
        grid_read({"name": name, "scenarios": ["s"], "models": ["a"]})


def test_chosen_pairs_are_played_in_their_order_and_once() -> None:
    grid = grid_read(
        {"name": "x", "scenarios": ["s"], "pairs": "listed", "listed": [["b", "a"], ["a", "a"], ["b", "a"]]}
    )
    assert pairs_of(grid) == [("b", "a"), ("a", "a")]


@pytest.mark.django_db
def test_an_experiment_can_be_run_again_from_its_manifest(owner: User) -> None:
    first = _create(owner, GridFile(YAML).grid | {"seed": 3, "stop_phrase": "Deal at"})
    scenario_edit(slug="fractions", editor=owner, values={"opening": "Changed."})
    written = _manifest(first)
    again = _create(owner, GridFile(written).grid)
    assert list(cells(grid_read(again.grid))) == list(cells(grid_read(first.grid)))
    assert again.scenario_versions == first.scenario_versions == {"fractions": 1, "night-bus": 1}
    assert again.turns_planned == first.turns_planned
    told = ("seed_prompt", "max_turns", "seed", "stop_phrase", "scenario", "cell", "iteration")
    assert list(again.conversations.order_by("cell").values(*told)) == list(
        first.conversations.order_by("cell").values(*told)
    )
    assert json.loads(_manifest(again))["grid"] == json.loads(written)["grid"]
    whole = json.loads(written)
    assert {one["slug"]: one["version"] for one in whole["scenarios"]} == first.scenario_versions
    assert "Changed." not in written
    assert [one["slug"] for one in whole["models"]] == ["one", "other"]
    newest = _create(owner, whole["grid"] | {"scenario_versions": {}})
    assert newest.scenario_versions["fractions"] == 2
    with pytest.raises(NotFound, match="version 7"):
        services.experiment_create(owner=owner, given=whole["grid"] | {"scenario_versions": {"fractions": 7}})


def _upload(client: Client, text: str | bytes) -> Any:
    data = text if isinstance(text, bytes) else text.encode()
    return client.post("/conversations/experiments/file/", {"file": SimpleUploadedFile("grid.yaml", data)})


@pytest.mark.django_db
def test_a_file_fills_the_form_and_a_wrong_one_says_where(client: Client, owner: User) -> None:
    client.force_login(owner)
    page = _upload(client, YAML)
    assert page.status_code == 200
    assert page.context["grid"]["temperature"] == (0.2, 0.7)
    assert 'value="0.2, 0.7"' in page.content.decode()
    wrong = _upload(client, YAML.replace("turns: 4", "turns: 0"))
    assert wrong.status_code == 400
    assert "line 7: Turns are at least 1." in wrong.content.decode()
    assert _upload(client, b"\xff\xfe\x00").status_code == 400
    assert client.post("/conversations/experiments/file/").status_code == 400


@pytest.mark.django_db
def test_an_experiment_can_be_planned_again_in_the_versions_of_then(client: Client, owner: User) -> None:
    first = _create(owner, GridFile(YAML).grid)
    client.force_login(owner)
    address = f"/conversations/experiments/new/?from={first.pk}"
    page = client.get(address).content.decode()
    assert 'value="first look"' in page
    assert "fractions v1" not in page
    scenario_edit(slug="fractions", editor=owner, values={"opening": "Changed."})
    assert "fractions v1" in client.get(address).content.decode()
    assert client.get("/conversations/experiments/new/?from=nonsense").status_code == 200
    client.force_login(factories.user())
    assert client.get(address).status_code == 404
