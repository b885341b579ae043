"""A whole battle on the real embedded model: pages' socket, API, event stream and terminal, as a newcomer has them."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from urllib.error import URLError

import pytest

from tests.live import Person
from tests.server import ROOT, Server, free_port, start

pytestmark = [pytest.mark.embedded, pytest.mark.xdist_group("embedded")]
MODELS = ["smollm2-135m", "smollm2-135m-brief"]
READY_WITHIN_SECONDS = 60


@pytest.fixture(scope="module")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server beside a running embedded engine, seeded as the first start does."""
    port = free_port()
    engine = subprocess.Popen([sys.executable, "-m", "providers.engines.embedded", str(port)], cwd=ROOT)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", engine)
        folder = tmp_path_factory.mktemp("embedded")
        running = start(folder, upstream_url=f"http://127.0.0.1:{port}/v1", EMBEDDED_PORT=str(port))
        try:
            running.manage("providers_seed")
            yield running
        finally:
            running.stop()
    finally:
        engine.terminate()
        engine.wait(10)


def _wait_for(url: str, engine: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY_WITHIN_SECONDS
    while time.monotonic() < until:
        if engine.poll() == 78:  # EX_CONFIG: the packages are not installed
            if os.environ.get("CI") == "true":
                pytest.fail("the embedded engine cannot run here")
            pytest.skip("the embedded engine is not installed")
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except (URLError, OSError):
            time.sleep(0.1)
    raise TimeoutError(url)


def test_a_blind_battle_from_the_prompt_to_the_leaderboard(embedded_server: Server) -> None:
    person = Person(embedded_server, embedded_server.accounts[1])
    status, battle = person.call("POST", "battles/", {"prompt": "Say hello in five words.", "models": MODELS})
    assert status == 201, battle
    with person.watch(battle["id"]) as window:
        ended = window.until_ended()
        assert {frame["type"] for frame in ended.values()} == {"finished"}
        assert all(window.text_of(side).strip() for side in "ab")
        window.send("preference", choice="a")
        revealed = window.until("revealed")["battle"]
    assert {side["model"]["slug"] for side in revealed["sides"]} == set(MODELS)
    figures = [response["metrics"] for response in revealed["turns"][0]["responses"]]
    assert all(figure["output_tokens"] > 0 and figure["latency_ms"] > 0 for figure in figures)
    embedded_server.manage("snapshots_rebuild")
    status, board = person.call("GET", "leaderboard/")
    assert {row["model"]["slug"] for row in board["results"]} == set(MODELS)
    assert board["comparisons"] == 1


def test_a_follow_up_by_the_api_streams_as_events(embedded_server: Server) -> None:
    person = Person(embedded_server, embedded_server.accounts[2])
    status, battle = person.call("POST", "battles/", {"prompt": "Name a colour.", "models": MODELS, "mode": "named"})
    assert status == 201, battle
    with person.watch(battle["id"]) as window:
        window.until_ended()
    status, events = person.call_raw(
        "POST", f"battles/{battle['id']}/turns/", {"prompt": "And another?"}, Accept="text/event-stream"
    )
    assert status == 200, events
    assert events.count('"type":"finished"') == 2
    status, whole = person.call("GET", f"battles/{battle['id']}/")
    assert [response["status"] for turn in whole["turns"] for response in turn["responses"]] == ["finished"] * 4


def test_the_same_model_answers_in_the_terminal(embedded_server: Server) -> None:
    said = embedded_server.manage("ask", "smollm2-135m", "Say hello.", "--max-tokens", "20", "--seed", "1")
    assert said.strip()
    assert said == embedded_server.manage("ask", "smollm2-135m", "Say hello.", "--max-tokens", "20", "--seed", "1")
