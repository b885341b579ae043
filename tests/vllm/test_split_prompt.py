"""A fault of vLLM itself on CPUs: one seeded request whose prompt it reads in parts (chunked prefill) ends the whole
server. Tourney says so in words, brings the engine back, and the engine beside it notices nothing."""

import time
from collections.abc import Iterator

import pytest

from tests.conversations.live import act, until_still
from tests.fakes.upstream import Upstream
from tests.live import JSON
from tests.vllm.room import SAFE, Room, needs_vllm, open_room

# Chunked prefill is vLLM's default; with few tokens a step every prompt is read in parts, and in full each time.
FRAGILE = (
    "--enforce-eager", "--no-enable-sleep-mode", "--max-num-batched-tokens=64", "--max-num-seqs=8",
    "--no-enable-prefix-caching",
)  # fmt: skip
PROMPT = "Tell me what you know about the sea, its whales, its winds and its harbours. " * 12

pytestmark = needs_vllm


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    folder = tmp_path_factory.mktemp("split")
    with (
        Upstream({}) as upstream,
        open_room(folder, upstream_url=upstream.url, engines={"fragile": FRAGILE, "steady": SAFE}) as room,
    ):
        yield room


def talk(room: Room, slug: str, *, seed: int | None) -> JSON:
    """A conversation of a model with itself, one turn of which begins with a long prompt."""
    agent = {"model": slug, "max_tokens": 16}
    body = {"agent_a": agent, "agent_b": agent, "seed_prompt": PROMPT, "max_turns": 1, "seed": seed}
    status, made = room.person.call("POST", "conversations/", body)
    assert status == 201, made
    act(room.person, made, "run")
    return until_still(room.person, made)


def test_without_a_seed_a_prompt_in_parts_is_answered(room: Room) -> None:
    room.state("ready", "fragile")
    (turn,) = talk(room, "fragile", seed=None)["turns"]
    assert turn["status"] == "finished"


def test_a_seeded_one_ends_the_server_which_is_said_in_words_and_comes_back(room: Room) -> None:
    room.state("ready", "fragile")
    steady = room.state("ready", "steady")
    began = time.monotonic()
    turns = talk(room, "fragile", seed=7)["turns"]
    assert {turn["status"] for turn in turns} == {"failed"}, turns
    failed = room.until(lambda row: row["restarts"] == 1, "fragile")
    print(f"\nfailed after {time.monotonic() - began:.0f} s: {failed['reason']}")
    assert "--no-enable-chunked-prefill" in failed["reason"]
    assert room.ended(room.battle("Say hello.", ["steady", "axolotl-steady"], mode="named")) == {"finished"}
    room.until(lambda row: row["state"] == "ready" and row["restarts"] == 1, "fragile")
    print(f"back after {time.monotonic() - began:.0f} s")
    (turn,) = talk(room, "fragile", seed=None)["turns"]
    assert turn["status"] == "finished"
    after = room.engine("steady")
    assert (after["state"], after["restarts"], after["state_since"]) == ("ready", 0, steady["state_since"])
    (turn,) = talk(room, "steady", seed=7)["turns"]
    assert turn["status"] == "finished"
