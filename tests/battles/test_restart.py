"""A server that goes away in mid-stream: no text is lost, and nothing stays half-way."""

import pytest

from tests.fakes.scripts import OTHER
from tests.live import JSON, Person
from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")


def _battle_in_mid_stream(person: Person) -> JSON:
    """A battle of which one side has answered, and the slow one has shown some text."""
    battle = person.battle("slow", "other")
    with person.watch(battle["id"]) as window:
        window.until_ended(1)
        window.until("delta", "block")
    return battle


def _responses(person: Person, battle: JSON) -> dict[str, JSON]:
    _, now = person.call("GET", f"battles/{battle['id']}/")
    return {response["status"]: response for response in now["turns"][0]["responses"]}


def test_a_server_that_is_shut_down_stores_what_it_was_writing(server: Server, person: Person) -> None:
    battle = _battle_in_mid_stream(person)
    server.shut_down()
    server.start_again()
    responses = _responses(person, battle)
    assert set(responses) == {"finished", "interrupted"}
    assert responses["finished"]["text"] == OTHER
    assert (OTHER * 4).startswith(responses["interrupted"]["text"])
    assert len(responses["interrupted"]["text"]) > 5


def test_a_server_that_is_killed_leaves_nothing_half_way(server: Server, person: Person) -> None:
    battle = _battle_in_mid_stream(person)
    server.process.kill()
    server.process.wait()
    server.start_again()
    with person.watch(battle["id"]) as window:
        ended = window.until_ended()
        (side,) = [side for side, end in ended.items() if end["status"] == "interrupted"]
        assert "restarted" in ended[side]["message"]
        window.send("regenerate", side=side)
        assert window.until("waiting")["response"]["attempt"] == 2
        window.send("stop")
        assert window.until_ended()[side]["status"] in ("stopped", "finished")
