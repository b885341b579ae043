"""Two agents who speak in turn, on a whole server: driven by the API, watched by the socket."""

import json
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.conversations.live import act, read, start, until_still
from tests.fakes.scripts import OTHER, STEADY
from tests.fakes.upstream import Upstream
from tests.live import JSON, Person
from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")


class Window:
    """One WebSocket on one conversation; keeps every frame that came."""

    def __init__(self, person: Person, conversation_id: str) -> None:
        self.frames: list[JSON] = []
        self.socket = connect(
            f"{person.server.ws_url}/ws/conversations/{conversation_id}/",
            additional_headers={"Cookie": f"{person.server.cookie_name}={person.account.session_key}"},
            origin=person.server.url,  # type: ignore[arg-type]
            legacy=True,
        )

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def until(self, type_: str, **wanted: Any) -> JSON:
        while True:
            frame: JSON = json.loads(self.socket.recv(timeout=15))
            self.frames.append(frame)
            inner = frame.get("progress", frame)
            if frame["type"] == type_ and all(inner.get(name) == value for name, value in wanted.items()):
                return frame


def test_a_conversation_plays_to_its_end_and_says_why_it_ended(person: Person) -> None:
    made = start(person, "steady", "other", max_turns=4)
    assert made["progress"] | {"cost": None} == made["progress"]
    assert made["progress"]["state"] == "ready"
    act(person, made, "run")
    ended = until_still(person, made)
    assert [turn["speaker"] for turn in ended["turns"]] == ["a", "b", "a", "b"]
    assert [turn["number"] for turn in ended["turns"]] == [1, 2, 3, 4]
    assert [turn["text"] for turn in ended["turns"]] == [STEADY, OTHER, STEADY, OTHER]
    assert all(turn["metrics"]["latency_ms"] > 0 and turn["metrics"]["cost"] > 0 for turn in ended["turns"])
    assert (ended["progress"]["state"], ended["progress"]["reason"]) == ("ended", "max_turns")
    assert ended["progress"]["reason_text"]


def test_each_agent_sees_the_history_from_its_own_side(person: Person, upstream: Upstream) -> None:
    seed = "Only the first one reads this."
    made = start(
        person, "steady", "echo", max_turns=3, seed_prompt=seed, agent_b={"system": "You are B.", "persona": "a cook"}
    )
    act(person, made, "turn", expect=201)
    act(person, made, "inject", {"text": "Be brief."}, expect=201)
    ended = act(person, made, "turn", expect=201)
    assert json.loads(ended["turns"][-1]["text"]) == [
        {"role": "system", "content": "You are B.\n\nWho you are: a cook"},
        {"role": "user", "content": f"{STEADY}\n\n[Moderator] Be brief."},
    ]
    act(person, made, "turn", expect=201)
    asked = next(request for request in upstream.asked("steady")[::-1] if request.messages[0]["content"] == seed)
    assert [message["role"] for message in asked.messages] == ["user", "assistant", "user"]
    assert asked.messages[1]["content"] == STEADY
    assert asked.messages[2]["content"].startswith("[Moderator] Be brief.\n\n[")
    assert (asked.sampling["temperature"], asked.sampling["max_tokens"]) == (0.7, 1024)


def test_two_windows_see_the_same_and_a_late_one_sees_all(person: Person) -> None:
    made = start(person, "steady", "slow", max_turns=2)
    with Window(person, made["id"]) as one:
        one.until("snapshot")
        act(person, made, "run")
        one.until("finished", side="a")
        one.until("delta", side="b")
        with Window(person, made["id"]) as late:
            snapshot = late.until("snapshot")["conversation"]
            assert [turn["speaker"] for turn in snapshot["turns"]] == ["a", "b"]
            assert snapshot["turns"][1]["status"] == "streaming"
            ends = [window.until("finished", side="b") for window in (one, late)]
            assert ends[0] == ends[1]
            for window in (one, late):
                assert window.until("progress", state="ended")["progress"]["reason"] == "max_turns"
    turn = next(frame["turn"] for frame in one.frames if frame["type"] == "turn" and frame["turn"]["speaker"] == "b")
    tail = turn["tail"]
    for frame in one.frames:
        if frame.get("id") == turn["id"]:
            tail = (
                frame["tail"] if frame["type"] == "block" else tail + frame.get("text", "") * (frame["type"] == "delta")
            )
    assert ends[0]["text"].endswith(tail)


def test_it_pauses_after_the_turn_and_goes_on(person: Person) -> None:
    made = start(person, "slow-markdown", "other", max_turns=3)
    act(person, made, "run")
    assert act(person, made, "pause")["progress"]["is_pause_asked"]
    paused = until_still(person, made)
    assert [turn["status"] for turn in paused["turns"]] == ["finished"]
    assert (paused["progress"]["state"], paused["progress"]["reason"]) == ("paused", "asked")
    act(person, made, "run")
    assert len(until_still(person, made)["turns"]) == 3


def test_stop_keeps_what_was_said_and_extend_lets_it_go_on(person: Person) -> None:
    made = start(person, "slow", "other", max_turns=2)
    with Window(person, made["id"]) as window:
        window.until("snapshot")
        act(person, made, "run")
        window.until("delta")
        stopped = act(person, made, "stop")
    assert stopped["turns"][0]["status"] == "stopped"
    assert stopped["turns"][0]["text"]
    assert stopped["progress"]["reason"] == "stopped"
    assert act(person, made, "extend", {"turns": 1}, expect=201)["progress"]["max_turns"] == 2
    act(person, made, "run")
    ended = until_still(person, made)
    assert [turn["text"] for turn in ended["turns"]] == [stopped["turns"][0]["text"], OTHER]
    assert act(person, made, "run", expect=409)["error"]["code"] == "is_over"


def test_a_failed_turn_ends_nothing_and_can_be_tried_again(person: Person) -> None:
    made = start(person, "steady", "fails-once", max_turns=3)
    act(person, made, "run")
    paused = until_still(person, made)
    assert (paused["progress"]["state"], paused["progress"]["reason"]) == ("paused", "failed")
    assert paused["turns"][1]["status"] == "failed"
    assert "Quokka" not in json.dumps(paused)
    act(person, made, "retry", expect=201)
    again = until_still(person, made)
    assert (again["turns"][1]["status"], again["turns"][1]["attempt"]) == ("finished", 2)
    act(person, made, "run")
    assert until_still(person, made)["progress"]["state"] == "ended"


def test_a_further_attempt_that_fails_gives_the_earlier_turn_back(person: Person) -> None:
    made = start(person, "answers-once", "steady", max_turns=2, seed_prompt="Only once, please.")
    act(person, made, "turn", expect=201)
    act(person, made, "retry", expect=201)
    now = until_still(person, made)
    assert (now["turns"][0]["status"], now["turns"][0]["attempt"]) == ("finished", 1)
    assert "earlier turn stands" in now["progress"]["note"]


@pytest.mark.parametrize("script", ["empty", "silent", "broken-500", "always-429", "rubbish"])
def test_an_agent_that_says_nothing_is_a_failed_turn(person: Person, script: str) -> None:
    made = start(person, script, "steady")
    now = act(person, made, "turn", expect=201)
    assert (now["turns"][0]["status"], now["progress"]["reason"]) == ("failed", "failed")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"stop_phrase": "RAYLEIGH scattering"}, "stop_phrase"),
        ({"stops_on_repetition": True}, "repetition"),
        ({"token_budget": 100}, "token_budget"),
        ({"cost_budget": "0.0002"}, "cost_budget"),
    ],
)
def test_it_stops_before_its_last_turn_and_says_why(person: Person, fields: JSON, reason: str) -> None:
    made = start(person, "steady", "other", max_turns=9, **fields)
    act(person, made, "run")
    ended = until_still(person, made)
    assert ended["progress"]["reason"] == reason
    assert len(ended["turns"]) < 5


def test_a_branch_shares_the_beginning_and_goes_its_own_way(person: Person) -> None:
    made = start(person, "steady", "other", max_turns=4)
    act(person, made, "run")
    until_still(person, made)
    branch = act(person, made, "branch", {"position": 2}, expect=201)
    assert branch["branched_from"] == made["id"]
    assert [turn["text"] for turn in branch["turns"]] == [STEADY, OTHER]
    act(person, branch, "run")
    assert len(until_still(person, branch)["turns"]) == 4
    assert len(read(person, made)["turns"]) == 4
    assert act(person, made, "branch", {"position": 99}, expect=404)


def test_a_turn_streams_as_events(person: Person) -> None:
    made = start(person, "thinker", "other", max_turns=2)
    frames = list(person.events(f"conversations/{made['id']}/turn/", {}))
    kinds = [frame["type"] for frame in frames]
    assert kinds[0] == "snapshot"
    assert "finished" in kinds
    # Its first words may have been there before the window on it was: then they are in the turn's own frame.
    thought = [json.dumps(frame) for frame in frames if frame["type"] in ("reasoning", "turn", "snapshot")]
    assert "Blue" in "".join(thought)
    assert kinds[-1] == "progress"
    assert frames[-1]["progress"]["turns_done"] == 1


def test_others_see_nothing_of_it(person: Person, server: Server) -> None:
    made = start(person, "steady", "other")
    stranger = Person(server, server.accounts[2])
    for method, path in [("GET", ""), ("POST", "run/"), ("POST", "stop/"), ("POST", "analysis/"), ("DELETE", "")]:
        status, _ = stranger.call(method, f"conversations/{made['id']}/{path}", {} if method == "POST" else None)
        assert status == 404, path
    with Window(stranger, made["id"]) as window, pytest.raises(Exception, match="4404"):
        window.until("snapshot")


@pytest.mark.parametrize(
    "fields",
    [
        {"max_turns": 0}, {"max_turns": 1_000_000}, {"seed_prompt": " \u200b"}, {"agent_a": {"model": "nobody"}},
        {"agent_a": {"temperature": 9}}, {"scenario": "no-such-thing"}, {"cost_budget": 0}, {"first": "c"},
        {"seed_prompt": "x" * 20_001}, {"agent_b": {"name": "n" * 61}}, {"agent_b": {"system": "a\u0000b"}},
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_makes_nothing(person: Person, fields: JSON) -> None:
    _, before = person.call("GET", "conversations/")
    body = {"agent_a": {"model": "axolotl-steady"}, "agent_b": {"model": "axolotl-other"}, "seed_prompt": "Hi."}
    for name, value in fields.items():
        body[name] = body[name] | value if name.startswith("agent") else value  # type: ignore[operator]
    status, answer = person.call("POST", "conversations/", body)
    assert status in (400, 404), answer
    assert answer["error"]["message"]
    _, after = person.call("GET", "conversations/")
    assert after["count"] == before["count"]


def test_a_server_that_is_killed_in_mid_turn_can_go_on(person: Person, server: Server) -> None:
    made = start(person, "steady", "slow", max_turns=2)
    with Window(person, made["id"]) as window:
        window.until("snapshot")
        act(person, made, "run")
        window.until("delta", side="b")
    server.process.kill()
    server.process.wait()
    server.start_again()
    now = until_still(person, made)
    assert [turn["status"] for turn in now["turns"]] == ["finished", "interrupted"]
    assert (now["progress"]["state"], now["progress"]["reason"]) == ("paused", "interrupted")
    act(person, made, "run")
    ended = until_still(person, made)
    assert [turn["status"] for turn in ended["turns"]] == ["finished", "finished"]
    assert ended["turns"][0] == now["turns"][0]
