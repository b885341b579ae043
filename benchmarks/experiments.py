"""How near to the ideal an experiment is played: `python -m benchmarks.experiments [--conversations 200] [--turns 10]`.

A database of its own (SQLite in a temporary folder, or DATABASE_URL) and an upstream in a process of its own: each
reply 40 tokens at 100 a second, 64 streams allowed. The ideal is what the longer of two things takes: one conversation
from end to end, or all turns at 64 at once. Where other work shares the machine, the CPU time says more than the clock:
it is what a process with a core to itself is bound by.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TOURNEY_VAR", tempfile.mkdtemp(prefix="tourney-experiments-"))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.backends.utils import CursorWrapper  # noqa: E402

from accounts.models import User  # noqa: E402
from benchmarks.paced import RATE, TOKENS  # noqa: E402
from conversations.experiments import services  # noqa: E402
from conversations.experiments.running import experiment_play  # noqa: E402
from conversations.experiments.selectors import experiment_counts  # noqa: E402
from conversations.services import scenarios_seed  # noqa: E402
from tests import factories  # noqa: E402

STREAMS, TARGET = 64, 0.85


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=10)
    asked = parser.parse_args()
    call_command("migrate", verbosity=0)
    scenarios_seed()
    upstream = subprocess.Popen([sys.executable, "-m", "benchmarks.paced"], stdout=subprocess.PIPE, text=True)
    try:
        assert upstream.stdout is not None
        _measure(f"http://127.0.0.1:{upstream.stdout.readline().strip()}/v1", asked.conversations, asked.turns)
    finally:
        upstream.kill()
        upstream.wait()


def _measure(url: str, conversations: int, turns: int) -> None:
    owner = User.objects.create(username=f"benchmark-{time.time_ns()}")
    endpoint = factories.endpoint(f"bench-{time.time_ns()}", base_url=url, max_streams=STREAMS)
    model = factories.language_model(f"paced-{time.time_ns()}", endpoint=endpoint, upstream_id="paced")
    grid = {
        "name": "benchmark", "models": [model.slug], "scenarios": ["fractions"], "iterations": conversations,
        "turns": turns,
    }  # fmt: skip
    made = services.experiment_create(owner=owner, given=grid)
    began = time.perf_counter()
    services.conversations_make(experiment=made)
    print(f"{conversations} conversations laid out in {time.perf_counter() - began:.1f} s")
    writes = _count_writes()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, began_cpu = time.perf_counter(), time.process_time()
    experiment_play(experiment=made, on_progress=lambda done, total: None)
    took, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    done = experiment_counts(made)["turns"]
    reply = TOKENS / RATE
    ideal = max(turns * reply, conversations * turns * reply / STREAMS)
    print(f"{done} turns in {took:.1f} s, ideal {ideal:.1f} s: {ideal / took:.0%} (target {TARGET:.0%})")
    print(
        f"{cpu / done * 1000:.1f} ms of CPU a turn: one core carries {done / cpu:.0f} turns a second, "
        f"the ideal is {done / ideal:.0f}; {cpu / took:.0%} of a core used, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{writes[0] / done:.2f} writes and {writes[1] / done:.2f} reads a turn")
    print(f"{grown:.0f} MB grown; database {connection.vendor}")


def _count_writes() -> list[int]:
    """Counts statements that write and that read from now on."""
    counted = [0, 0]
    run = CursorWrapper.execute

    def execute(self: CursorWrapper, sql: str, params: object = None) -> object:
        verb = str(sql).lstrip()[:6].upper()
        counted[0] += verb in ("INSERT", "UPDATE", "DELETE")
        counted[1] += verb == "SELECT"
        return run(self, sql, params)  # type: ignore[arg-type]

    CursorWrapper.execute = execute  # type: ignore[method-assign, assignment]
    return counted


if __name__ == "__main__":
    main()
