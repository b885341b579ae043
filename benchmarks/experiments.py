"""How near to the ideal an experiment is played: `python -m benchmarks.experiments [--conversations 200] [--turns 10]`.

A database of its own (SQLite in a temporary folder, or DATABASE_URL) and the tests' fake upstream in a process of its
own: each reply 40 tokens at 100 a second, 64 streams allowed. The ideal is what the longer of two things takes: one
conversation from end to end, or all turns at 64 at once.
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
from django.db import connection, reset_queries  # noqa: E402
from django.db.backends.utils import CursorWrapper  # noqa: E402

from accounts.models import User  # noqa: E402
from conversations.experiments import services  # noqa: E402
from conversations.experiments.running import experiment_play  # noqa: E402
from conversations.experiments.selectors import experiment_counts  # noqa: E402
from conversations.services import scenarios_seed  # noqa: E402
from tests import factories  # noqa: E402

STREAMS, TOKENS, RATE, TARGET = 64, 40, 100, 0.85
UPSTREAM = f"""
import time
from tests.fakes.scripts import Answer
from tests.fakes.upstream import Upstream
with Upstream({{"paced": Answer("word " * {TOKENS}, seconds_a_token={1 / RATE})}}) as running:
    print(running.url, flush=True)
    time.sleep(3600)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=10)
    asked = parser.parse_args()
    call_command("migrate", verbosity=0)
    scenarios_seed()
    upstream = subprocess.Popen([sys.executable, "-c", UPSTREAM], stdout=subprocess.PIPE, text=True)
    try:
        assert upstream.stdout is not None
        url = upstream.stdout.readline().strip()
        _measure(url, asked.conversations, asked.turns)
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
    reset_queries()
    writes = _count_writes()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    experiment_play(experiment=made, on_progress=lambda done, total: None)
    took = time.perf_counter() - began
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    counts = experiment_counts(made)
    reply = TOKENS / RATE
    ideal = max(turns * reply, conversations * turns * reply / STREAMS)
    print(f"{counts['turns']} turns in {took:.1f} s, ideal {ideal:.1f} s: {ideal / took:.0%} (target {TARGET:.0%})")
    print(
        f"{writes[0] / max(counts['turns'], 1):.1f} writes and {writes[1] / max(counts['turns'], 1):.1f} reads a turn"
    )
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
