"""How well the limiter finds an upstream's own limit: `python -m benchmarks.limits [--requests 1000] [--places 50]`.

All requests are queued at once; nothing is configured, so the limiter must find the limit by itself. Beside it, in the
same run, the ideal: the same requests behind a semaphore that knows the limit. Warm-up is the first fifth.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from urllib.request import urlopen

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")

import django

django.setup()

from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from providers.adapters.base import Finished, Limits, Message, Priority, ProviderError, Target  # noqa: E402
from providers.adapters.http import close_clients  # noqa: E402
from providers.client import stream_answer  # noqa: E402

WARM_UP_SHARE = 0.2
TARGETS = "Targets after warm-up: at least 95% of the possible throughput, under 2% of requests ever see a 429."
PROMPT = [Message("user", "x")]


@dataclass(frozen=True, slots=True)
class Run:
    """One line of the table. Rates are answers a second after warm-up."""

    name: str
    rate: float
    refused_share: float
    failed: int
    cpu_ms: float


async def ask(port: int, key: str) -> bool:
    target = Target("openai", f"http://127.0.0.1:{port}/v1", "m", limits=Limits(key))
    try:
        async with aclosing(stream_answer(target, PROMPT, priority=Priority.BATCH)) as events:
            return [isinstance(event, Finished) async for event in events][-1]
    except ProviderError:
        return False


async def all_at_once(requests: int, one: Callable[[], Awaitable[bool]]) -> int:
    """How many failed."""
    try:
        return (await asyncio.gather(*(one() for _ in range(requests)))).count(False)
    finally:
        await close_clients()


def measured(name: str, requests: int, places: int, seconds: float, *, knows: bool) -> Run:
    upstream = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.limits_upstream", str(places), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert upstream.stdout
        port = int(upstream.stdout.readline())
        cpu = time.process_time()

        async def run() -> int:
            semaphore = asyncio.Semaphore(places if knows else requests)

            async def one() -> bool:
                async with semaphore:
                    return await ask(port, "" if knows else name)

            return await all_at_once(requests, one)

        failed = asyncio.run(run())
        cpu = time.process_time() - cpu
        counts = json.loads(urlopen(f"http://127.0.0.1:{port}/counts").read())
    finally:
        upstream.kill()
        upstream.wait()
    served, warm = sorted(counts["served"]), int(requests * WARM_UP_SHARE)
    began = served[warm]
    refused = sum(at > began for at in counts["refused"])
    rate = (len(served) - warm) / (served[-1] - began)
    return Run(name, rate, refused / (len(served) - warm), failed, cpu / requests * 1000)


def main() -> int:
    parser = argparse.ArgumentParser(description="How well the limiter finds an upstream's own limit.")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--places", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.5, help="that an answer takes")
    given = parser.parse_args()
    sizes = (given.requests, given.places, given.seconds)
    runs = [measured("semaphore", *sizes, knows=True), measured("limiter", *sizes, knows=False)]
    table = Table("", "answers/s", "of the ideal", "refused after warm-up", "failed", "CPU ms a request")
    for run in runs:
        share = run.rate / runs[0].rate
        table.add_row(
            run.name,
            f"{run.rate:.1f}",
            f"{share:.1%}",
            f"{run.refused_share:.1%}",
            str(run.failed),
            f"{run.cpu_ms:.2f}",
        )
    console = Console()
    console.print(f"{given.requests} requests, {given.places} places, {given.seconds:g} s an answer")
    console.print(table)
    console.print(TARGETS)
    met = runs[1].rate >= 0.95 * runs[0].rate and runs[1].refused_share < 0.02 and not runs[1].failed
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
