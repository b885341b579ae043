"""An endpoint that takes one at a time: who waits for it is told so, may leave, and comes to their turn."""

import json
from collections.abc import Callable

import pytest

from tests.fakes.scripts import PLAIN
from tests.fakes.upstream import Upstream
from tests.line import Line
from tests.live import JSON, Window

pytestmark = pytest.mark.xdist_group("server")

FREE = "Waiting for a free place"

Places = dict[str, tuple[int | None, str]]  # by side: the number and the words


def said(frames: list[JSON]) -> Places:
    """What a reader now knows of each side's place in line."""
    known: Places = {}
    for frame in frames:
        if frame["type"] == "snapshot":
            answers = frame["battle"]["turns"][-1]["responses"]
            known = {answer["side"]: (answer["place"], answer["waiting"]) for answer in answers}
        elif frame["type"] == "queued":
            known[frame["side"]] = (frame["place"], frame["message"])
    return known


def until(window: Window, condition: Callable[[Places], bool]) -> Places:
    """Read on until the places are as the test wants them."""
    while not window.frames or not condition(said(window.frames)):
        window.next()
    return said(window.frames)


def waiting(known: Places) -> list[tuple[int | None, str]]:
    return sorted((place for place in known.values() if place[1]), key=str)


def test_who_waits_sees_their_place_and_then_the_answer(line: Line) -> None:
    first = line.battle(mode="named")
    with line.person.watch(first["id"]) as one:
        until(one, lambda known: waiting(known) == [(1, "Next in line")])
        second = line.battle(mode="named")
        with line.person.watch(second["id"]) as two:
            places = [(2, "Number 2 in line"), (3, "Number 3 in line")]
            until(two, lambda known: waiting(known) == places)
            line.go_on()
            for window in (one, two):
                ends = window.until_ended()
                assert {end["text"] for end in ends.values()} == {PLAIN}
                assert waiting(said(window.frames)) == [], "nobody waits any more"


def test_in_a_blind_battle_no_number_is_told_and_the_line_does_not_move(line: Line) -> None:
    """Two sides that move up together would tell that they share an endpoint."""
    ahead = line.battle(mode="named")
    with line.person.watch(ahead["id"]) as other:
        until(other, lambda known: waiting(known) == [(1, "Next in line")])
    blind = line.battle()
    with line.person.watch(blind["id"]) as window:
        until(window, lambda known: waiting(known) == [(None, FREE), (None, FREE)])
        _, read = line.person.call("GET", f"battles/{blind['id']}/")
        line.go_on()
        ends = window.until_ended()
        assert {end["text"] for end in ends.values()} == {PLAIN}
    queued = [frame for frame in window.frames if frame["type"] == "queued"]
    assert len(queued) <= 2, "once for each side that did not wait from the start"
    answers = [answer for state in (blind, read) for answer in state["turns"][0]["responses"]]
    assert {told["place"] for told in [*queued, *answers]} == {None}
    assert "axolotl" not in json.dumps([blind, read, window.frames]).lower()


@pytest.mark.parametrize("by", ["socket", "api"])
def test_who_waits_can_leave_and_is_never_asked(line: Line, upstream: Upstream, by: str) -> None:
    first = line.battle(mode="named")
    with line.person.watch(first["id"]) as window:
        known = until(window, lambda known: len(waiting(known)) == 1)
        (side,) = [side for side, place in known.items() if place[1]]
        if by == "socket":
            window.send("stop", side=side)
        else:
            line.person.call("POST", f"battles/{first['id']}/stop/", {"side": side})
        assert window.until_ended(1)[side]["status"] == "stopped"
        second = line.battle(mode="named")
        with line.person.watch(second["id"]) as later:
            until(later, lambda known: [place for place, _ in waiting(known)] == [1, 2])
        line.go_on()
        assert {end["status"] for end in window.until_ended().values()} == {"stopped", "finished"}
    asked = [request for request in upstream.requests if request.messages[-1]["content"] == line.prompts[0]]
    assert len(asked) == 1


def test_who_comes_back_sees_the_place_at_once(line: Line) -> None:
    battle = line.battle(mode="named")
    with line.person.watch(battle["id"]) as window:
        until(window, lambda known: len(waiting(known)) == 1)
    with line.person.watch(battle["id"]) as again:
        again.next()
        assert waiting(said(again.frames)) == [(1, "Next in line")]
    page = line.person.call_raw("GET", f"battles/{battle['id']}/")[1]
    assert "Next in line" in page


def test_a_programs_event_stream_says_who_waits(line: Line) -> None:
    battle = line.battle(mode="named")
    line.go_on()
    with line.person.watch(battle["id"]) as window:
        window.until_ended()
    holder = line.battle(mode="named")
    with line.person.watch(holder["id"]) as window:
        until(window, lambda known: len(waiting(known)) == 1)
    frames: list[JSON] = []
    for frame in line.person.events(f"battles/{battle['id']}/turns/", {"prompt": line.prompt()}):
        frames.append(frame)
        if [place for place, _ in waiting(said(frames))] == [2, 3]:
            line.go_on()
    assert [frame["text"] for frame in frames if frame["type"] == "finished"] == [PLAIN, PLAIN]
