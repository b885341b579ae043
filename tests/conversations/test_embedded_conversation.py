"""Two agents on the real embedded model: from a scenario to the last turn, a reading and a file."""

import json

import pytest

from tests.conversations.live import act, until_still
from tests.live import Person
from tests.server import Server

pytestmark = [pytest.mark.embedded, pytest.mark.xdist_group("embedded")]

ON_A_BUSY_MACHINE = 240


def test_a_scenario_is_played_read_and_saved(embedded_server: Server) -> None:
    person = Person(embedded_server, embedded_server.accounts[3])
    agent = {"temperature": 0.7, "max_tokens": 24}
    body = {
        "agent_a": {"model": "smollm2-135m", **agent},
        "agent_b": {"model": "smollm2-135m-brief", **agent},
        "scenario": "the-waiting-room",
        "max_turns": 2,
        "seed": 7,
    }
    status, made = person.call("POST", "conversations/", body)
    assert status == 201, made
    assert [agent["name"] for agent in made["agents"]] == ["Alma", "Viktor"]
    act(person, made, "run")
    ended = until_still(person, made, seconds=ON_A_BUSY_MACHINE)
    assert ended["progress"]["state"] == "ended", ended["progress"]
    assert [turn["status"] for turn in ended["turns"]] == ["finished"] * 2
    assert all(turn["text"].strip() and turn["metrics"]["output_tokens"] for turn in ended["turns"])
    act(person, made, "analysis", {"model": "smollm2-135m"}, expect=201)
    (analysis,) = until_still(person, made, seconds=ON_A_BUSY_MACHINE)["analyses"]
    assert analysis["status"] == "finished"
    assert analysis["result"], "llama.cpp holds an answer to the schema"
    status, text = person.call_raw("GET", f"conversations/{made['id']}/export/")
    assert status == 200
    assert [one["content"] for one in json.loads(text)["messages"]] == [turn["text"] for turn in ended["turns"]]
