"""What people live through when an engine of our own dies under load, and when `engines run` does, which looks after
it. The engine is the fake vLLM; who starts it, watches it, ends it and says how it is is Tourney."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from providers.errors import SENTENCES, ErrorKind
from tests.cluster import ENGINE, Cluster
from tests.cluster.load import Ledger, visit
from tests.faults import test_faults as faults
from tests.live import Person, Window
from tests.providers.test_engine_keeper import pid_on

pytestmark = pytest.mark.faults

# Two of the three are drawn for each battle.
MODELS = ["axolotl-steady", "axolotl-other", ENGINE]
MODEL_ID = f"(SELECT id FROM providers_languagemodel WHERE slug = '{ENGINE}')"
# Of systemd: RestartSec of tourney-engines.service.
BEGUN_AGAIN_AFTER_SECONDS = 2.0
# Nobody has looked at it for 30 seconds, that is looked for every 30, and the machine is busy.
SHOWN_WITHIN_SECONDS = 75.0
# A model that failed five times in a row rests for a minute first, for two the next time.
ANSWERS_WITHIN_SECONDS = 300.0
READY_WITHIN_SECONDS = 120.0
NOT_DRAWN_SECONDS = 10.0
SETTLED_SECONDS = 3.0  # a battle whose models were drawn just before is stored by then


class Watch:
    """The engine from outside: its process, what the database and the API say of it. `times` are seconds since the
    kill."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.person = Person(cluster.door, cluster.accounts[0])  # the administrator
        self.pid, self.killed_at = 0, time.monotonic()
        self.times: dict[str, float] = {}

    def kill(self, what: Callable[[], Any]) -> None:
        self.pid, self.killed_at = self.process(), time.monotonic()
        what()

    def until(self, what: str, condition: Callable[[], bool], within: float) -> None:
        until = time.monotonic() + within
        while not condition():
            assert time.monotonic() < until, f"not {what} after {within:g} s: {self.row()}"
            time.sleep(0.1)
        self.times[what] = time.monotonic() - self.killed_at

    def until_ready(self) -> None:
        """Another process than the one that was killed listens, and is said to be ready."""
        self.until("ready", self.is_another_one_ready, READY_WITHIN_SECONDS)

    def until_it_answers(self) -> None:
        """Those who play have a whole answer of it that was begun from now on."""
        (since,) = self.cluster.query("SELECT now()")[0]
        finished = f"""SELECT count(*) FROM battles_response
                       WHERE model_id = {MODEL_ID} AND status = 'finished' AND started_at > '{since}'"""
        self.until("answered with", lambda: self.cluster.query(finished) != [(0,)], ANSWERS_WITHIN_SECONDS)

    def is_another_one_ready(self) -> bool:
        if self.process() in (0, self.pid):
            return False
        row = self.row()
        return bool(row["is_watched"] and row["state"] == "ready")

    def process(self) -> int:
        """Who listens at the engine's port; 0 for nobody."""
        with suppress(StopIteration, AssertionError):
            return pid_on(self.cluster.ports["engine"])
        return 0

    def row(self) -> dict[str, Any]:
        status, row = self.person.call("GET", f"engines/{ENGINE}/")
        assert status == 200, row
        return row

    def answer(self) -> tuple[Window, str]:
        """Somebody watches it write, and their side of it."""
        battle = self.person.battle("engine", "steady", mode="named")
        side = next(side["label"] for side in battle["sides"] if side["model"]["slug"] == ENGINE)
        return self.person.watch(battle["id"]), side


@pytest.fixture
def watch(cluster: Cluster) -> Watch:
    """Of an engine that is ready, whatever went on before."""
    watch = Watch(cluster)
    watch.until_ready()
    watch.times.clear()
    return watch


def test_an_engine_that_is_killed_fails_what_it_answers_in_words_and_comes_back_by_itself(
    cluster: Cluster, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, told = watch.row()["restarts"], {}

    def kill() -> None:
        window, side = watch.answer()
        with window:
            while window.until("delta", "block")["side"] != side:
                pass
            watch.kill(lambda: os.kill(watch.pid, signal.SIGKILL))
            told.update(window.until_ended()[side])
        watch.until_ready()
        assert watch.row()["restarts"] == before + 1
        watch.until_it_answers()

    played(cluster, watch, "engine, kill -9", kill, capsys)
    assert (told["type"], told["message"]) == ("failed", SENTENCES[ErrorKind.CONNECTION])


def test_when_engines_run_is_killed_its_guard_ends_the_engine_and_the_next_one_starts_it(
    cluster: Cluster, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    def kill() -> None:
        watch.kill(cluster.parts["engines"].kill)
        watch.until("ended by the guard", lambda: watch.process() != watch.pid, READY_WITHIN_SECONDS)
        time.sleep(BEGUN_AGAIN_AFTER_SECONDS)
        cluster.parts["engines"].start()
        watch.until_ready()
        watch.until_it_answers()

    played(cluster, watch, "engines run, kill -9", kill, capsys)


def test_while_nobody_looks_after_an_engine_it_is_shown_as_unreachable_and_not_drawn(
    cluster: Cluster, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    told, drawn = {}, []

    def kill() -> None:
        watch.kill(cluster.parts["engines"].kill)
        watch.until("ended by the guard", lambda: not watch.process(), READY_WITHIN_SECONDS)
        watch.until("shown as unreachable", lambda: watch.row()["state"] == "unreachable", SHOWN_WITHIN_SECONDS)
        assert "start manage.py engines run" in watch.row()["reason"]
        assert not watch.row()["is_watched"]
        window, side = watch.answer()
        with window:
            told.update(window.until_ended()[side])
        time.sleep(SETTLED_SECONDS)
        (since,) = cluster.query("SELECT now()")[0]
        time.sleep(NOT_DRAWN_SECONDS)
        drawn.extend(
            cluster.query(
                f"""SELECT b.id, bool_or(s.model_id = {MODEL_ID} OR r.model_id = {MODEL_ID}) FROM battles_battle b
                    JOIN battles_side s ON s.battle_id = b.id LEFT JOIN battles_redraw r ON r.side_id = s.id
                    WHERE b.created_at > '{since}' GROUP BY b.id"""
            )
        )
        cluster.parts["engines"].start()
        watch.until_ready()
        watch.until_it_answers()

    played(cluster, watch, "engines run, kill -9, and away", kill, capsys)
    assert (told["type"], told["message"]) == ("failed", SENTENCES[ErrorKind.CONNECTION])
    assert drawn, "nobody began a battle meanwhile"
    assert not [battle for battle, is_drawn in drawn if is_drawn]


def played(
    cluster: Cluster, watch: Watch, name: str, kill: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """People play while it happens and after; then all must be well, and each answer that failed must have said why."""
    ledger = Ledger()
    moment = asyncio.run(
        visit(
            cluster.door, ledger, people=faults.PEOPLE, seconds=faults.SECONDS_AFTER, models=MODELS,
            after=faults.FAULT_AFTER_SECONDS, meanwhile=kill,
        )
    )  # fmt: skip
    votes = faults.stored_votes(cluster, ledger)
    failed = cluster.query(
        f"""SELECT s.battle_id::text, r.error_kind, r.error_message FROM battles_response r
            JOIN battles_side s ON s.id = r.side_id WHERE r.status = 'failed' AND r.model_id = {MODEL_ID}"""
    )
    mine = [(kind, words) for battle, kind, words in failed if battle in ledger.battles]
    with capsys.disabled():
        print("\n" + faults.told(name, ledger, moment, votes))
        print(f"answers of the engine that failed {len(mine)}, told {dict(ledger.failures)}")
        print("after the kill: " + ", ".join(f"{what} {seconds:.1f} s" for what, seconds in watch.times.items()))
    faults.all_is_well(ledger, moment, votes)
    assert {kind for kind, _ in mine} <= {ErrorKind.CONNECTION.value}
    assert all(words for _, words in mine)
    assert "" not in ledger.failures
