"""Two web processes on one database and one Redis: what one writes, the other shows, stops and takes votes on."""

import os
from collections.abc import Iterator

import pytest

from tests.fakes.scripts import OTHER, STEADY
from tests.live import Person
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
