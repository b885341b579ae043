"""The scenario library: versions, copies, files, and what a placeholder may be."""

from typing import Any

import pytest
from django.test import Client

from common.errors import NotAllowed, NotFound
from common.yaml_lines import FileInvalid
from conversations import services
from conversations.errors import ScenarioInvalid
from conversations.models import Scenario, Side
from conversations.selectors import scenario_get, scenarios_for
from tests import factories

pytestmark = pytest.mark.django_db
CATEGORIES = {
    "negotiation", "disagreement", "teaching", "persuasion", "cooperation under scarcity", "gossip", "authority",
    "status difference", "a hidden goal", "small talk", "a moral dilemma", "a debate",
}  # fmt: skip


def test_a_dozen_come_along_and_are_loaded_once() -> None:
    assert services.scenarios_seed() == 12
    assert services.scenarios_seed() == 0
    assert set(Scenario.objects.values_list("category", flat=True)) == CATEGORIES
    assert not Scenario.objects.filter(system_a="").exists()
    assert not Scenario.objects.filter(system_b="").exists()


def test_an_edit_is_a_version_and_what_was_played_keeps_its_own() -> None:
    person = factories.user()
    made = services.scenario_create(owner=person, values={"name": "Tea", "opening": "Hello {other}, I am {name}."})
    agents = {side: services.AgentSpec(model=factories.language_model().slug, name=f"N{side}") for side in Side}
    played = services.conversation_create(owner=person, wanted=services.NewConversation(agents=agents, scenario=made))
    assert played.seed_prompt == "Hello Nb, I am Na."
    after = services.scenario_edit(slug="tea", editor=person, values={"opening": "Good day."})
    assert (after.version, after.name) == (2, "Tea")
    assert services.scenario_edit(slug="tea", editor=person, values={"opening": " Good day. "}).version == 2
    played.refresh_from_db()
    assert played.scenario == made
    assert list(scenarios_for(person)) == [after]
    assert scenario_get(slug="tea", viewer=person, version=1) == made


def test_the_library_is_copied_and_not_edited() -> None:
    services.scenarios_seed()
    person = factories.user()
    with pytest.raises(NotAllowed):
        services.scenario_edit(slug="night-bus", editor=person, values={"name": "Mine"})
    copy = services.scenario_copy(slug="night-bus", owner=person)
    assert (copy.owner, copy.version) == (person, 1)
    assert services.scenario_edit(slug=copy.slug, editor=person, values={"name": "Mine"}).name == "Mine"
    with pytest.raises(NotFound):
        scenario_get(slug=copy.slug, viewer=factories.user())


def test_a_saved_file_comes_in_again() -> None:
    services.scenarios_seed()
    person = factories.user()
    text = services.scenarios_yaml(scenarios_for(person))
    made = services.scenarios_import(owner=person, text=text)
    assert len(made) == 12
    originals = Scenario.objects.filter(owner=None)
    for field in ("name", "system_a", "system_b", "opening"):
        assert sorted(getattr(one, field) for one in made) == sorted(originals.values_list(field, flat=True))


@pytest.mark.parametrize("field", ["system_a", "system_b", "opening"])
def test_an_unknown_placeholder_is_refused_with_its_name(field: str) -> None:
    values = {"name": "Tea", "opening": "Hi."} | {field: "You are {naem}."}
    with pytest.raises(ScenarioInvalid, match="naem") as refused:
        services.scenario_create(owner=None, values=values)
    assert field in refused.value.fields


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "scenarios:"), ("scenarios: 3", "list"), ("scenarios:\n  - name: Tea", "line 2"),
        ("scenarios:\n  - name: Tea\n    opening: Hi {you}", "line 3"),
        ("scenarios:\n  - nmae: Tea", "Did you mean name"),
        ("scenarios:\n  - name: 3\n    opening: x", "text"), ("scenarios: [", "line"),
        ("scenarios:\n  - {name: A, opening: B, first_side: c}", "line 2"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(FileInvalid, match=says):
        services.scenarios_import(owner=factories.user(), text=text)
    assert not Scenario.objects.exists()


def test_the_pages_and_the_api_do_the_same(client: Client, api_client: Any) -> None:
    services.scenarios_seed()
    person = factories.user()
    client.force_login(person)
    assert "The night bus" in client.get("/conversations/scenarios/").content.decode()
    values = {"name": "Tea", "opening": "Hello.", "first_side": "b"}
    assert client.post("/conversations/scenarios/new/", values).status_code == 302
    answer = client.post("/conversations/scenarios/tea/", values | {"opening": "{oops}"})
    assert answer.status_code == 400
    assert "{oops}" in answer.content.decode()
    caller = api_client(person, ("read", "run"))
    assert caller.get("/api/v1/scenarios/").json()["count"] == 13
    after = caller.put("/api/v1/scenarios/tea/", {"opening": "Good day."}, format="json").json()
    assert (after["version"], after["first_side"], after["is_own"]) == (2, "b", True)
    assert caller.get("/api/v1/scenarios/tea/?version=1").json()["opening"] == "Hello."
    assert caller.post("/api/v1/scenarios/tea/copy/").json()["slug"] == "tea-copy"
    assert caller.put("/api/v1/scenarios/night-bus/", {"name": "x"}, format="json").status_code == 403
    assert caller.post("/api/v1/scenarios/", {"name": "No opening"}, format="json").status_code == 400
    assert "scenarios:" in client.get("/conversations/scenarios/export/").content.decode()
