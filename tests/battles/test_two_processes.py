"""Two web processes on one database and one Redis: what one writes, the other shows, stops and takes votes on."""

import json
import os
from collections.abc import Iterator

import pytest

from tests.fakes.scripts import OTHER, PLAIN, STEADY
from tests.line import Line
from tests.live import Browser, Person
from tests.server import Server

pytestmark = [
    pytest.mark.xdist_group("server"),
    pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="several processes need Redis: REDIS_URL is not set"),
]


@pytest.fixture(scope="module")
def twin(server: Server) -> Iterator[Server]:
    second = server.twin()
    yield second
    second.stop()


def test_one_process_shows_what_the_other_writes(server: Server, twin: Server, person: Person) -> None:
    battle = person.battle("slow", "steady")
    with Person(twin, person.account).watch(battle["id"]) as window:
        ends = window.until_ended()
        texts = {end["text"] for end in ends.values()}
        assert STEADY in texts
        assert any(text.startswith(OTHER) for text in texts)
        for side, end in ends.items():
            assert end["html"].startswith(window.html_of(side))
        assert any(end["can_vote"] for end in ends.values())


def test_one_process_stops_what_the_other_writes_and_takes_the_vote(
    server: Server, twin: Server, person: Person
) -> None:
    battle = person.battle("slow", "steady")
    with person.watch(battle["id"]) as here, Person(twin, person.account).watch(battle["id"]) as there:
        there.until_ended(1)
        there.send("stop")
        assert {end["status"] for end in there.until_ended().values()} == {"finished", "stopped"}
        assert {end["status"] for end in here.until_ended().values()} == {"finished", "stopped"}
        there.send("preference", choice="tie")
        there.until("revealed")
        assert here.until("snapshot")["battle"]["preference"]["choice"] == "tie"


def test_one_process_shows_who_waits_in_the_other_and_lets_them_leave(
    server: Server, twin: Server, person: Person, line: Line
) -> None:
    battle = line.battle(mode="named")
    with Person(twin, person.account).watch(battle["id"]) as there:
        while not there.frames or "Next in line" not in json.dumps(there.frames):
            there.next()
        there.send("stop")
        assert {end["status"] for end in there.until_ended().values()} == {"stopped"}


def test_two_processes_share_one_line(twin: Server, person: Person, line: Line) -> None:
    """The place that one process holds, the other waits for."""
    line.battle(mode="named")
    there = Line(Person(twin, person.account))
    later = there.battle(mode="named")
    with there.person.watch(later["id"]) as window:
        while "Next in line" not in json.dumps(window.frames):
            window.next()
        line.go_on()
        there.go_on()
        assert {end["text"] for end in window.until_ended().values()} == {PLAIN}


def test_who_logs_out_of_one_is_out_of_the_other(server: Server, twin: Server) -> None:
    browser = Browser(server, server.accounts[6])
    battle = browser.person.battle("steady", "other")
    with Person(twin, browser.person.account).watch(battle["id"]) as window:
        window.until_ended()
        browser.log_out()
        assert window.until_closed() == 4401
