"""A battle over the real socket of a real server, with an upstream that behaves and misbehaves on a real wire."""

import json
import re
import time
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from common.markdown import render
from tests.fakes.scripts import OTHER, SCRIPTS, SECRETS, STEADY
from tests.fakes.upstream import Upstream
from tests.live import JSON, Person
from tests.server import Server
from tests.server_data import CLUES

pytestmark = pytest.mark.xdist_group("server")

FAILING = [
    "dies", "refuses-401", "missing-404", "always-429", "broken-500", "too-long-400", "filtered-400", "html",
    "rubbish", "error-in-stream", "cut", "empty", "stall-before", "stall-after",
]  # fmt: skip


@pytest.fixture(scope="module")
def answered(server: Server) -> JSON:
    """A battle of the `person` in which both sides have answered, for tests that change nothing of it."""
    person = Person(server, server.accounts[1])
    battle = person.battle("steady", "other")
    with person.watch(battle["id"]) as window:
        window.until_ended()
    return battle


def _texts(ends: dict[str, dict[str, Any]]) -> set[str]:
    return {end.get("text", "") for end in ends.values()}


def _tells(content: str) -> list[str]:
    return [clue for clue in (*CLUES, *(secret.lower() for secret in SECRETS)) if clue in content.lower()]


def test_a_whole_battle_from_prompt_to_reveal(person: Person) -> None:
    battle = person.battle("steady", "other")
    assert [side["name"] for side in battle["sides"]] == ["Assistant A", "Assistant B"]
    with person.watch(battle["id"]) as window:
        assert window.next()["type"] == "snapshot"
        ends = window.until_ended()
        assert _texts(ends) == {STEADY, OTHER}
        assert all(end["html"] == render(end["text"]) for end in ends.values())
        assert any(end["can_vote"] for end in ends.values())
        assert not _tells(json.dumps(window.frames))
        assert all(end["metrics"] is None for end in ends.values())

        window.send("preference", choice="b", reasons=["clear"], comment="Short.")
        revealed = window.until("revealed")["battle"]
    assert {side["model"]["slug"] for side in revealed["sides"]} == {"axolotl-steady", "axolotl-other"}
    assert revealed["preference"]["choice"] == "b"
    assert all(r["metrics"]["latency_ms"] > 0 for r in revealed["turns"][0]["responses"])


def test_deltas_and_blocks_together_are_the_answer(person: Person) -> None:
    battle = person.battle("slow", "other")
    with person.watch(battle["id"]) as window:
        ends = window.until_ended()
        slow = next(side for side, end in ends.items() if end["text"] != OTHER)
        assert ends[slow]["html"].startswith(window.html_of(slow))
        assert ends[slow]["text"].endswith(window.text_of(slow))
        assert window.html_of(slow) + render(window.text_of(slow)) == ends[slow]["html"]


def test_a_reader_who_comes_back_in_mid_stream_misses_nothing(person: Person) -> None:
    battle = person.battle("slow", "steady")
    with person.watch(battle["id"]) as window:
        window.until("block")
    time.sleep(0.5)
    with person.watch(battle["id"]) as again:
        snapshot = again.next()
        assert {r["status"] for r in snapshot["battle"]["turns"][0]["responses"]} & {"streaming", "finished"}
        ends = again.until_ended(1)
        for side, end in ends.items():
            assert again.html_of(side) + render(again.text_of(side)) == end["html"]


def test_an_answer_that_nobody_watches_is_written_to_its_end(person: Person) -> None:
    battle = person.battle("steady", "other")
    for _ in range(100):
        _, now = person.call("GET", f"battles/{battle['id']}/")
        if now["can_vote"]:
            break
        time.sleep(0.1)
    assert {r["text"] for r in now["turns"][0]["responses"]} == {STEADY, OTHER}


@pytest.mark.parametrize("script", FAILING)
def test_a_side_fails_alone_and_tells_nothing(person: Person, script: str) -> None:
    battle = person.battle(script, "steady")
    with person.watch(battle["id"]) as window:
        ends = window.until_ended()
        failed = [end for end in ends.values() if end["type"] == "failed"]
        assert [(end["kind"], end["message"]) for end in failed] == [
            ("unavailable", "This assistant could not answer. You can try again.")
        ]
        assert STEADY in _texts(ends)
        assert not any(end["can_vote"] for end in ends.values())
        assert not _tells(json.dumps(window.frames))
        window.send("preference", choice="a")
        assert window.until("refused")["code"] == "not_votable"
    assert not _tells(person.call_raw("GET", f"battles/{battle['id']}/")[1])


def test_a_failed_side_can_be_tried_again_and_the_vote_taken(person: Person) -> None:
    battle = person.battle("fails-once", "steady")
    with person.watch(battle["id"]) as window:
        ends = window.until_ended()
        (side,) = [side for side, end in ends.items() if end["type"] == "failed"]
        window.send("regenerate", side=side)
        again = window.until("waiting")
        assert (again["side"], again["response"]["attempt"], again["response"]["text"]) == (side, 2, "")
        assert window.until("finished", "failed")["can_vote"]
        window.send("preference", choice="tie")
        assert window.until("revealed")["battle"]["preference"]["choice"] == "tie"


def test_stop_keeps_what_was_written_and_the_other_side_goes_on(person: Person) -> None:
    battle = person.battle("slow", "steady")
    with person.watch(battle["id"]) as window:
        ends = window.until_ended(1)
        (steady,) = ends
        other = "b" if steady == "a" else "a"
        window.send("stop", side=other)
        end = window.until("finished")
        assert (end["side"], end["status"], end["can_vote"]) == (other, "stopped", True)
        assert 0 < len(end["text"]) < len(OTHER * 4)


def test_a_follow_up_sends_each_side_its_own_history(person: Person, upstream: Upstream) -> None:
    battle = person.battle("steady", "other", prompt="First question of mine?")
    with person.watch(battle["id"]) as window:
        window.until_ended()
        window.send("prompt", text="And why?")
        turn = window.until("turn")["turn"]
        assert (turn["number"], turn["prompt"], turn["is_open"]) == (2, "And why?", False)
        window.until_ended()
    sent = {r.model: [m["content"] for m in r.messages] for r in upstream.requests if len(r.messages) == 3}
    assert sent["steady"] == ["First question of mine?", STEADY, "And why?"]
    assert sent["other"] == ["First question of mine?", OTHER, "And why?"]


def test_after_the_reveal_it_goes_on_in_the_open_and_does_not_count(person: Person) -> None:
    battle = person.battle("steady", "other")
    with person.watch(battle["id"]) as window:
        window.until_ended()
        window.send("preference", choice="a")
        window.until("revealed")
        window.send("prompt", text="And now?")
        assert window.until("turn")["turn"]["is_open"]
        ends = window.until_ended()
        assert all(end["metrics"] for end in ends.values())
        assert not any(end["can_vote"] for end in ends.values())
        window.send("preference", choice="b")
        assert window.until("refused")["code"] == "already_voted"


def test_reasoning_comes_apart_from_the_answer(person: Person) -> None:
    battle = person.battle("thinker", "steady")
    with person.watch(battle["id"]) as window:
        window.until_ended()
        thoughts = "".join(frame["text"] for frame in window.frames if frame["type"] == "reasoning")
        snapshot = window.frames[0]["battle"]["turns"][0]["responses"]
    already = "".join(response["reasoning"] for response in snapshot)
    assert already + thoughts == "Let me think. Blue light is scattered more."


def test_hostile_output_reaches_nobody_as_markup(person: Person) -> None:
    battle = person.battle("hostile", "steady")
    with person.watch(battle["id"]) as window:
        window.until_ended()
        html = " ".join(frame.get("html", "") for frame in window.frames).lower()
    tags = re.findall(r"<[^>]*>", html)
    assert len(tags) > 4
    assert not [tag for tag in tags if re.search(r"script|<img|<iframe|<svg|<style|\son\w+=|javascript:|style=", tag)]


@pytest.mark.parametrize(
    "frame",
    [
        "", "null", "[]", "{}", "not json", '{"type": "nonsense"}', '{"type": "prompt"}',
        '{"type": "prompt", "text": 7}', '{"type": "prompt", "text": "x", "more": 1}',
        '{"type": "prompt", "text": " "}',
        '{"type": "prompt", "text": "a\\u0000b"}', '{"type": "prompt", "text": "\\ud800"}',
        '{"type": "stop", "side": "c"}', '{"type": "regenerate", "side": "z"}',
        '{"type": "preference", "choice": "left"}', '{"type": "reaction", "response": "7", "value": "like"}',
        '{"type": "reaction", "response": "00000000-0000-0000-0000-000000000000", "value": "like"}',
        '{"type": "snapshot"}', '{"type": "prompt", "text": "' + "x" * 20_001 + '"}', "[" * 100_000,
    ],
)  # fmt: skip
def test_a_frame_that_is_not_understood_is_refused_and_the_socket_stays(
    person: Person, answered: JSON, frame: str
) -> None:
    with person.watch(answered["id"]) as window:
        window.until_ended()
        window.socket.send(frame)
        refused = window.until("refused")
        assert refused["code"]
        assert refused["message"]
        window.send("ping")
        assert window.until("pong") == {"type": "pong"}


def test_binary_frames_are_refused_too(person: Person) -> None:
    battle = person.battle("steady", "other")
    with person.watch(battle["id"]) as window:
        window.socket.send(b"\x00\xff\x00")
        assert window.until("refused")["code"] == "frame_invalid"


def test_a_flood_is_refused_and_the_socket_stays(person: Person) -> None:
    battle = person.battle("steady", "other")
    with person.watch(battle["id"]) as window:
        window.until_ended()
        for _ in range(60):
            window.send("ping")
        assert window.until("refused")["code"] == "too_many"
        time.sleep(1)
        window.send("ping")
        assert window.until("pong")


def test_prompts_and_votes_in_mid_answer_are_refused_and_cost_nothing(person: Person) -> None:
    battle = person.battle("slow", "steady")
    with person.watch(battle["id"]) as window:
        window.send("preference", choice="a")
        assert window.until("refused")["code"] == "not_votable"
        window.send("prompt", text="Hurry!")
        assert window.until("refused")["code"] == "still_answering"
        window.send("regenerate", side="a")
        window.send("regenerate", side="b")
        assert window.until("refused")["code"] == "still_answering"
        window.send("stop")


def test_regenerating_one_side_costs_the_other_nothing(person: Person) -> None:
    battle = person.battle("slow", "steady")
    with person.watch(battle["id"]) as window:
        (steady,) = window.until_ended(1)
        for _ in range(4):
            window.send("regenerate", side=steady)
            window.until("waiting")
            window.until_ended(1)
        ends = window.until_ended()
        slow = "b" if steady == "a" else "a"
        assert window.html_of(slow) + render(window.text_of(slow)) == ends[slow]["html"]


def test_an_attempt_that_fails_gives_the_earlier_answer_back(person: Person) -> None:
    battle = person.battle("answers-once", "steady", prompt="Once only?")
    with person.watch(battle["id"]) as window:
        ends = window.until_ended()
        (side,) = [side for side, end in ends.items() if end["text"] != STEADY]
        window.send("regenerate", side=side)
        window.until("failed")
        assert window.until("refused")["code"] == "attempt_failed"
        assert window.ended[side]["text"] == ends[side]["text"]
        window.send("preference", choice=side)
        assert window.until("revealed")["battle"]["preference"]["choice"] == side


def test_nothing_that_the_api_answers_before_the_vote_tells_a_model(person: Person) -> None:
    battle = person.battle("steady", "other")
    path = f"battles/{battle['id']}"
    said = [json.dumps(battle)]
    with person.watch(battle["id"]) as window:
        window.until_ended()
    status, stream = person.call_raw("POST", f"{path}/turns/", {"prompt": "And?"}, Accept="text/event-stream")
    frames = [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line]
    assert status == 200
    assert frames[0]["type"] == "snapshot"
    assert sum(frame["type"] in ("finished", "failed") for frame in frames) == 2
    said.append(stream)
    for method, action, body in [
        ("POST", "turns/", {"prompt": "And then?"}),
        ("POST", "regenerate/", {"side": "a"}),
        ("POST", "stop/", {}),
        ("GET", "", None),
        ("POST", "reactions/", {"response": battle["turns"][0]["responses"][0]["id"], "value": "like"}),
        ("DELETE", "", None),
        ("POST", "restore/", None),
    ]:
        status, text = person.call_raw(method, f"{path}/{action}", body)
        assert status in (200, 201, 204), text
        said.append(text)
    assert not _tells(" ".join(said))


def test_what_one_window_does_the_other_sees(person: Person) -> None:
    battle = person.battle("steady", "other")
    with person.watch(battle["id"]) as one, person.watch(battle["id"]) as two:
        one.until_ended()
        two.until_ended()
        one.send("prompt", text="And?")
        snapshot = two.until("snapshot")["battle"]
        assert [turn["prompt"] for turn in snapshot["turns"]] == ["Why is the sky blue?", "And?"]
        assert _texts(two.until_ended()) == {STEADY, OTHER}
        one.until_ended()
        status, _ = person.call("POST", f"battles/{battle['id']}/preference/", {"choice": "both_bad"})
        assert status == 201
        assert one.until("snapshot")["battle"]["is_revealed"]
        assert two.until("snapshot")["battle"]["preference"]["choice"] == "both_bad"


def test_nobody_else_gets_a_socket(person: Person, server: Server) -> None:
    battle = person.battle("steady", "other")
    with Person(server, server.accounts[2]).watch(battle["id"]) as window:
        with pytest.raises(ConnectionClosed) as closed:
            window.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4404
    address = f"{server.ws_url}/ws/battles/{battle['id']}/"
    nobody = connect(address, origin=server.url, legacy=True)  # type: ignore[arg-type]
    with pytest.raises(ConnectionClosed) as closed:
        nobody.recv(timeout=5)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401
    cookie = {"Cookie": f"{server.cookie_name}={person.account.session_key}"}
    for origin in ("https://evil.example.org", "http://127.0.0.1:1", "http://localhost:8000", "null"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(address, origin=origin, additional_headers=cookie, legacy=True)  # type: ignore[arg-type]


def test_every_script_of_the_upstream_ends_in_a_stored_state(person: Person) -> None:
    started = [person.battle(script, "steady") for script in SCRIPTS if script not in ("steady", "slow")]
    deadline = time.monotonic() + 25
    for battle in started:
        while True:
            _, now = person.call("GET", f"battles/{battle['id']}/")
            statuses = {r["status"] for r in now["turns"][0]["responses"]}
            if not statuses & {"waiting", "streaming"}:
                break
            assert time.monotonic() < deadline, (now["turns"], statuses)
            time.sleep(0.1)
        assert statuses <= {"finished", "failed"}
