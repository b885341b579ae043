"""A blind battle in which one side is asked on Anthropic's wire and the other on Gemini's, over real sockets."""

import json

import pytest

from tests.fakes.scripts import OTHER, PLAIN, SECRETS, STEADY
from tests.fakes.upstream import Request, Upstream
from tests.live import Person
from tests.server_data import CLUES, UPSTREAM_KEY

pytestmark = pytest.mark.xdist_group("server")

CLUES_OF_WIRES = (*CLUES, *SECRETS, "anthropic", "gemini", "req_1", UPSTREAM_KEY)


def tells(content: str) -> list[str]:
    return [clue for clue in CLUES_OF_WIRES if clue.lower() in content.lower()]


def asked(upstream: Upstream, prompt: str) -> dict[str, Request]:
    """The last request with this prompt on each wire, by its path."""
    return {request.path: request for request in upstream.requests if request.messages[-1]["content"] == prompt}


def test_a_whole_blind_battle_between_two_wires(person: Person) -> None:
    battle = person.battle("anthropic-steady", "gemini-other")
    with person.watch(battle["id"]) as window:
        ends = window.until_ended()
        assert {end["text"] for end in ends.values()} == {STEADY, OTHER}
        assert not tells(json.dumps([battle, window.frames]))
        window.send("preference", choice="a")
        revealed = window.until("revealed")["battle"]
    assert {side["model"]["slug"] for side in revealed["sides"]} == {"axolotl-anthropic-steady", "axolotl-gemini-other"}
    for response in revealed["turns"][0]["responses"]:
        assert response["metrics"]["input_tokens"] == 9
        assert response["metrics"]["output_tokens"] > 9


def test_a_follow_up_over_the_api_reaches_both_wires_with_what_was_said(person: Person, upstream: Upstream) -> None:
    battle = person.battle("anthropic-thinker", "gemini-thinker", prompt="Why is the sea blue?")
    with person.watch(battle["id"]) as window:
        window.until_ended()
    status, stream = person.call_raw(
        "POST", f"battles/{battle['id']}/turns/", {"prompt": "And at dusk, by the sea?"}, Accept="text/event-stream"
    )
    frames = [json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line]
    assert status == 200
    assert [frame["text"] for frame in frames if frame["type"] == "finished"] == [PLAIN, PLAIN]
    assert not tells(stream)
    requests = asked(upstream, "And at dusk, by the sea?")
    assert set(requests) == {"/v1/messages", "/v1beta/models/thinker:streamGenerateContent?alt=sse"}
    for request in requests.values():
        assert [(message["role"], message["content"]) for message in request.messages] == [
            ("user", "Why is the sea blue?"),
            ("assistant", PLAIN),
            ("user", "And at dusk, by the sea?"),
        ]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("anthropic-refuses-401", "gemini-error-in-stream"),
        ("anthropic-overloaded-529", "gemini-always-429"),
        ("anthropic-dies", "gemini-refuses-401"),
    ],
)
def test_failures_of_two_wires_look_alike(person: Person, left: str, right: str) -> None:
    battle = person.battle(left, right)
    with person.watch(battle["id"]) as window:
        ends = window.until_ended()
        assert {end["type"] for end in ends.values()} == {"failed"}
        assert len({(end["kind"], end["message"]) for end in ends.values()}) == 1
        assert not tells(json.dumps([battle, window.frames]))


def test_a_key_is_in_no_log_of_the_server(person: Person) -> None:
    battle = person.battle("anthropic-broken-500", "gemini-missing-404")
    with person.watch(battle["id"]) as window:
        window.until_ended()
    log = person.server.log
    assert log
    assert UPSTREAM_KEY not in log
