"""What people at a cluster live through when a part of it dies under load. `make test-faults` prints the numbers."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.cluster import Cluster
from tests.cluster.load import Ledger, visit
from tests.faults.conftest import ACCOUNTS

pytestmark = pytest.mark.faults

PEOPLE = ACCOUNTS - 1
FAULT_AFTER_SECONDS = 6.0
SECONDS_AFTER = 12.0
AWAY_SECONDS = 3.0
FROZEN_SECONDS = 10.0
SLOW_SECONDS = 15.0
HELD_SECONDS = 0.5
RUNS_SECONDS = 0.03
# Orphans are spared for a minute, and looked for once a minute.
SWEPT_WITHIN_SECONDS = 180.0
MODELS = ["axolotl-steady", "axolotl-slow-markdown"]


@dataclass(frozen=True)
class Fault:
    """`do` is done under load, and returns when the part is back."""

    name: str
    do: Callable[[Cluster], None]


def killed(*names: str, away: float = AWAY_SECONDS) -> Callable[[Cluster], None]:
    """kill -9, a moment without it, and a new one, as a supervisor does it."""

    def do(cluster: Cluster) -> None:
        for name in names:
            cluster.parts[name].kill()
        time.sleep(away)
        for name in names:
            cluster.parts[name].start()

    return do


def restarted(name: str) -> Callable[[Cluster], None]:
    """An orderly stop, a moment without it, and a new one."""

    def do(cluster: Cluster) -> None:
        assert cluster.parts[name].stop(), f"{name} did not end when it was asked to"
        time.sleep(AWAY_SECONDS)
        cluster.parts[name].start()

    return do


def frozen(name: str) -> Callable[[Cluster], None]:
    """It holds every connection and answers nothing, as on a host that swaps."""

    def do(cluster: Cluster) -> None:
        process = cluster.parts[name].process
        assert process
        process.send_signal(signal.SIGSTOP)
        time.sleep(FROZEN_SECONDS)
        process.send_signal(signal.SIGCONT)

    return do


def slowed(name: str) -> Callable[[Cluster], None]:
    """Whatever it is asked it answers, half a second late: it runs for a moment and is held again."""

    def do(cluster: Cluster) -> None:
        process = cluster.parts[name].process
        assert process
        until = time.monotonic() + SLOW_SECONDS
        while time.monotonic() < until:
            process.send_signal(signal.SIGSTOP)
            time.sleep(HELD_SECONDS)
            process.send_signal(signal.SIGCONT)
            time.sleep(RUNS_SECONDS)

    return do


FAULTS = [
    Fault("web process, kill -9", killed("web1", away=0.5)),
    Fault("worker and beat, kill -9", killed("worker1", "beat", away=0.5)),
    Fault("both workers, kill -9", killed("worker1", "worker2")),
    Fault("Redis, kill -9", killed("redis")),
    Fault("Redis, frozen", frozen("redis")),
    Fault("Redis, slow", slowed("redis")),
    Fault("PostgreSQL, restart", restarted("postgresql")),
    Fault("PostgreSQL, kill -9", killed("postgresql")),
    Fault("upstream, kill -9", killed("upstream")),
    Fault("web process, restart", restarted("web2")),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nobody_loses_a_vote_and_nothing_stays_stuck(
    cluster: Cluster, fault: Fault, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = Ledger()
    moment = asyncio.run(
        visit(
            cluster.door, ledger, people=PEOPLE, seconds=SECONDS_AFTER, models=MODELS, after=FAULT_AFTER_SECONDS,
            meanwhile=lambda: fault.do(cluster),
        )
    )  # fmt: skip
    votes = stored_votes(cluster, ledger)
    with capsys.disabled():
        print("\n" + told(fault.name, ledger, moment, votes))
    all_is_well(ledger, moment, votes)


def test_what_nobody_looks_at_comes_to_its_end_too(cluster: Cluster) -> None:
    live = "SELECT count(*) FROM battles_response WHERE status IN ('waiting', 'streaming')"
    until = time.monotonic() + SWEPT_WITHIN_SECONDS
    while time.monotonic() < until and cluster.query(live) != [(0,)]:
        time.sleep(1)
    assert cluster.query(live) == [(0,)]


def test_every_vote_has_come_into_the_leaderboard_once(cluster: Cluster) -> None:
    twice = "SELECT source_id, count(*) FROM leaderboard_comparison GROUP BY source_id HAVING count(*) > 1"
    without = """SELECT battle_id FROM battles_preference WHERE NOT EXISTS
                 (SELECT 1 FROM leaderboard_comparison WHERE source_id = battle_id::text)"""
    assert cluster.query(twice) == []
    assert cluster.query(without) == []
    counted = "SELECT count(*) FROM leaderboard_comparison"
    newest = """SELECT coalesce(max(comparisons), 0) FROM leaderboard_snapshot
                WHERE category = '' AND language = '' AND person_id IS NULL"""
    until = time.monotonic() + SWEPT_WITHIN_SECONDS
    while time.monotonic() < until and cluster.query(counted) != cluster.query(newest):
        time.sleep(1)
    assert cluster.query(counted) == cluster.query(newest)


def all_is_well(ledger: Ledger, moment: float, votes: dict[str, list[str]]) -> None:
    """Everybody got what they wanted, each vote was stored once, every refusal said why, and all works again."""
    assert not ledger.gave_up
    assert {battle: [choice] for battle, choice in ledger.votes.items()} == votes
    assert not ledger.unexplained
    assert {"battle", "first words", "vote", "board", "page"} <= ledger.again_after(moment).keys()


def stored_votes(cluster: Cluster, ledger: Ledger) -> dict[str, list[str]]:
    """The choices that the database has for each of the ledger's battles: of these people, in this time."""
    rows = cluster.query(
        """SELECT p.battle_id::text, CASE p.choice WHEN 'winner' THEN s.label ELSE p.choice END
           FROM battles_preference p LEFT JOIN battles_side s ON s.id = p.winner_id"""
    )
    found: dict[str, list[str]] = {}
    for battle, choice in rows:
        if battle in ledger.battles:
            found.setdefault(battle, []).append(choice)
    return found


def told(name: str, ledger: Ledger, moment: float, votes: dict[str, list[str]]) -> str:
    again = ", ".join(f"{kind} {seconds:.1f} s" for kind, seconds in sorted(ledger.again_after(moment).items()))
    first, last = (min(ledger.trouble_times), max(ledger.trouble_times)) if ledger.trouble_times else (0.0, 0.0)
    troubles = ", ".join(f"{count} x {what}" for what, count in ledger.troubles.most_common()) or "none"
    return "\n".join(
        (
            f"--- {name}, load {os.getloadavg()[0]:.0f} ---",
            f"battles {len(ledger.battles)}, votes accepted {len(ledger.votes)}, "
            f"stored {sum(map(len, votes.values()))}, sides {dict(ledger.ends)}, given up {len(ledger.gave_up)}",
            f"troubles: {troubles}, for {last - first:.1f} s",
            f"went well again after it was back: {again}",
        )
    )
