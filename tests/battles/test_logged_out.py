"""Whoever logs out is out: in every window, also in one that is open and still gets an answer."""

import pytest

from tests.live import Browser, Window
from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")


def test_logging_out_closes_the_open_windows_of_that_session_and_no_other(server: Server) -> None:
    account = server.accounts[6]
    here, there = Browser(server, account), Browser(server, account)
    battle = here.person.battle("slow", "steady")
    watch, id = here.person.watch, battle["id"]
    with watch(id) as one, watch(id) as two, there.person.watch(id) as other:
        assert one.next()["type"] == two.next()["type"] == other.next()["type"] == "snapshot"
        here.log_out()
        assert (one.until_closed(), two.until_closed()) == (4401, 4401)
        other.until_ended()
        other.send("ping")
        assert other.until("pong")
    with watch(id) as again:
        assert again.until_closed() == 4401


def test_logging_out_closes_an_open_conversation_too(server: Server) -> None:
    here = Browser(server, server.accounts[6])
    agents = {"agent_a": {"model": "axolotl-steady"}, "agent_b": {"model": "axolotl-other"}}
    status, made = here.person.call("POST", "conversations/", agents | {"seed_prompt": "Hello?", "max_turns": 2})
    assert status == 201, made
    with Window(here.person, made["id"], "conversations") as window:
        assert window.next()["type"] == "snapshot"
        here.log_out()
        assert window.until_closed() == 4401
