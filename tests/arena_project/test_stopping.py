"""Processes that are asked to end do so quickly, and nothing that they were at is lost or done twice. The limit is the
supervisor's grace, which is the shortest of all."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from accounts import jobs
from accounts.models import Job
from arena_project.supervisor import GRACE_SECONDS
from common import stopping
from leaderboard import rebuild
from leaderboard.models import Board
from tests import factories
from tests.fakes.scripts import Answer
from tests.fakes.upstream import Upstream
from tests.live import Person
from tests.server import ROOT, Server, start

pytestmark = pytest.mark.xdist_group("server")
START = str(ROOT / "deploy/start.sh")
WITHIN_SECONDS = 60.0
ALONE = ("--concurrency", "2", "--without-gossip", "--without-mingle", "--without-heartbeat")


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + WITHIN_SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def end(process: "subprocess.Popen[bytes]") -> float:
    """Ask it to end; how many seconds it took."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    return time.monotonic() - began


@pytest.fixture(params=["files", "redis"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the queue lies: in files, as with `make run`, or in Redis, as with several hosts."""
    if request.param == "files":
        return "filesystem://localhost"
    if not (url := os.environ.get("REDIS_URL", "")):
        pytest.skip("there is no Redis")
    return f"{url.rpartition('/')[0]}/13"


@pytest.fixture
def busy(upstream: Upstream, tmp_path: Path, broker: str) -> Iterator[Server]:
    running = start(tmp_path, upstream_url=upstream.url, accounts=2, BROKER_URL=broker)
    yield running
    running.stop()


@contextmanager
def worker(server: Server, *command: str, **variables: str) -> Iterator["subprocess.Popen[bytes]"]:
    log = (Path(server.environment["TOURNEY_VAR"]) / "worker.log").open("ab")
    process = subprocess.Popen(
        command or [START, "worker"], cwd=ROOT, env=server.environment | variables, stdout=log, stderr=log
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_task_that_does_not_end_is_left_to_the_next_worker(busy: Server, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.touch()
    celery = [sys.executable, "-m", "celery", "-A", "tests.arena_project.stuck"]
    subprocess.run([*celery, "call", "stuck"], cwd=ROOT, env=busy.environment, check=True, capture_output=True)
    for _ in range(2):
        before = begun.read_text()
        with worker(busy, *celery, "worker", *ALONE, STUCK_BEGUN=str(begun)) as process:
            until(partial(lambda before: begun.read_text() != before, before))
            assert end(process) < GRACE_SECONDS
            assert process.returncode == 0
    said = (tmp_path / "worker.log").read_text()
    assert said.count("Left to the next worker") == 2
    assert "stuck" in said


def test_an_experiment_goes_on_in_the_next_worker_from_where_it_was(
    busy: Server, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(upstream.scripts, "steady", Answer("word " * 30, seconds_a_token=0.05))
    person = Person(busy, busy.accounts[1])
    before = len(upstream.asked("steady"))
    plan = {
        "name": "left", "models": ["axolotl-steady"], "pairs": "ordered", "self_pairs": True,
        "scenarios": ["night-bus"], "iterations": 3, "turns": 4,
    }  # fmt: skip
    status, made = person.call("POST", "experiments/", plan)
    assert status == 201, made

    def now() -> Any:
        return person.call("GET", f"experiments/{made['id']}/")[1]

    def job() -> Any:
        return person.call("GET", "jobs/")[1]["results"][0]

    def turns() -> list[Any]:
        _, log = person.call_raw("GET", f"experiments/{made['id']}/export/?format=jsonl")
        return [json.loads(line) for line in log.splitlines()]

    with worker(busy) as process:
        until(lambda: len(turns()) >= 3)
        assert end(process) < GRACE_SECONDS
    assert job()["state"] == "queued"
    kept = {turn["turn_id"] for turn in turns()}
    with worker(busy):
        until(lambda: job()["state"] == "done")
    ended = turns()
    assert len(ended) == 12
    assert kept <= {turn["turn_id"] for turn in ended}
    # At most what was being written by three conversations is asked for again.
    assert 12 <= len(upstream.asked("steady")) - before <= 15


@pytest.fixture
def ending_server(server: Server) -> Iterator[Server]:
    """The server of all tests, and there again for the tests that follow, whatever comes of this one."""
    yield server
    if server.process.poll() is not None:
        server.start_again()


def test_a_web_process_ends_its_sockets_and_streams_in_words(ending_server: Server, person: Person) -> None:
    battle, streamed = person.battle("slow", "other"), person.battle("slow", "other")
    person.call("POST", f"battles/{streamed['id']}/stop/")
    frames = person.events(f"battles/{streamed['id']}/turns/", {"prompt": "And at night?"})
    assert next(frames)["type"] == "snapshot"
    with person.watch(battle["id"]) as window:
        window.until_ended(1)
        window.until("delta", "block")
        with ThreadPoolExecutor(1) as reader:  # it reads on meanwhile, as a browser does
            closed = reader.submit(window.until_closed)
            took = end(ending_server.process)
        assert took < GRACE_SECONDS / 2
        assert {side["type"] for side in window.ended.values()} == {"finished", "failed"}
        closed.result()
    last = [frame for frame in frames if frame["type"] in ("finished", "failed")]
    assert len(last) == 2
    ending_server.start_again()
    _, now = person.call("GET", f"battles/{battle['id']}/")
    assert {response["status"] for response in now["turns"][0]["responses"]} == {"finished", "interrupted"}


def test_a_request_that_is_under_way_is_answered_before_the_process_ends(ending_server: Server, person: Person) -> None:
    """Several, for each is answered within some hundredths of a second."""
    answers: list[int] = []
    broken: list[object] = []

    def ask() -> None:
        while not is_over.is_set():
            try:
                answers.append(person.call_raw("GET", "battles/")[0])
            except (URLError, ConnectionError) as error:
                broken.append(type(error.reason if isinstance(error, URLError) else error))
                return

    is_over = threading.Event()
    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(ask) for _ in range(4)]
        until(lambda: len(answers) > 8)
        end(ending_server.process)
        is_over.set()
    for each in asking:
        each.result()
    assert set(answers) == {200}
    # Nobody listens any more, or the system turned somebody away at the door: nobody who was let in goes without.
    assert set(broken) <= {ConnectionRefusedError, ConnectionResetError}, broken


@pytest.fixture
def being_ended() -> Iterator[None]:
    stopping.stop_ask()
    yield
    stopping.stop_take_back()


@pytest.mark.django_db
def test_a_job_is_queued_again_and_has_lost_no_attempt(being_ended: None) -> None:
    job = Job.objects.create(owner=factories.user(), kind="export", parameters={})
    jobs.job_kind("test_left")(lambda job, progress: {"never": progress(1)})
    try:
        Job.objects.filter(pk=job.pk).update(kind="test_left")
        with pytest.raises(stopping.GivesWay):
            jobs.job_run(job_id=job.pk)
    finally:
        jobs._works.pop("test_left")
    job.refresh_from_db()
    assert (job.state, job.attempts) == (Job.State.QUEUED, 0)


@pytest.mark.django_db
def test_a_rebuild_leaves_the_segments_that_it_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "is_stopping", lambda: True)
    assert rebuild.board_rebuild(Board.objects.get(slug="main")) == []
