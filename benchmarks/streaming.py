"""How much Tourney adds to a stream: `python -m benchmarks.streaming [--battles 1,50,200] [--pattern burst,arriving]`.

A fake upstream, one web process on a database of its own, and real WebSocket clients, each in its own process; beside
it, in the same run, the bare relay of `benchmarks.relay`. Everything runs on one machine, so clocks agree.
First-token latency is from when the upstream sent it to when the client had it; chunks are those that the upstream
sent. CPU is that of the web process (all threads) from the first prompt to the last answer.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.streaming_client import Plan, Seen
from benchmarks.upstream import CHUNKS

ROOT = Path(__file__).resolve().parent.parent
SPREAD_SECONDS = {"burst": 0.0, "arriving": 10.0}
START_SECONDS = 30.0
TARGETS = (
    "Targets for 200 battles: arriving, nothing lost, p95 first token under 80 ms, at most 0.25 CPU-seconds for 1,000 "
    "chunks; burst, all complete, p95 first token under 1.2 s."
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of the table; latencies in milliseconds."""

    server: str
    pattern: str
    battles: int
    complete: int
    first: tuple[float, float]
    last: tuple[float, float]
    cpu_per_1000: float
    peak_mib: float
    problems: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--battles", default="1,50,200", help="how many at once, separated by commas")
    parser.add_argument("--pattern", default="burst,arriving")
    parser.add_argument("--server", default="relay,tourney")
    parser.add_argument("--profile", default="", help="write a py-spy profile of the web process into this file")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 110)
    load = os.getloadavg()[0]
    rows: list[Measured] = []
    for server in options.server.split(","):
        for pattern in options.pattern.split(","):
            for battles in map(int, options.battles.split(",")):
                rows.append(measure(server, pattern, battles, options.profile))
                console.print(f"{server} {pattern} {battles}: {rows[-1].complete} complete", style="dim")
    console.print(table(rows, title=f"Streaming, {os.cpu_count()} cores, load {load:.1f} before"))
    console.print(TARGETS)
    for row in rows:
        for problem in row.problems[:3]:
            console.print(f"{row.server} {row.pattern} {row.battles}: {problem}", style="red")
    return int(any(row.complete < row.battles for row in rows))


def measure(server: str, pattern: str, battles: int, profile: str = "") -> Measured:
    """One run: everything is started afresh, so that no run profits from the one before it."""
    with ExitStack() as stack:
        upstream = stack.enter_context(started([sys.executable, "-m", "benchmarks.upstream"]))
        upstream_port = int(first_line(upstream))
        start = relay if server == "relay" else tourney
        process, plan = start(stack, upstream_port, battles + 1)
        plan.spread_seconds = SPREAD_SECONDS[pattern]
        client = stack.enter_context(started([sys.executable, "-m", "benchmarks.streaming_client"]))
        assert client.stdin
        client.stdin.write(msgspec.json.encode(plan).decode() + "\n")
        client.stdin.flush()
        if first_line(client) != "ready":
            raise SystemExit(f"{server}: the clients could not connect")
        if profile and server == "tourney":
            py_spy = [
                "py-spy",
                "record",
                "--pid",
                str(process.pid),
                "-o",
                profile,
                "-f",
                "raw",
                "-d",
                "14",
                "-r",
                "200",
            ]
            stack.enter_context(started(py_spy))
            time.sleep(1.5)
        before = cpu_seconds(process.pid)
        client.stdin.write("go\n")
        client.stdin.flush()
        seen = msgspec.json.decode(first_line(client), type=list[Seen])
        used = cpu_seconds(process.pid) - before
        peak = peak_mib(process.pid)
        if profile and server == "tourney":
            time.sleep(max(0.0, 16 - SPREAD_SECONDS[pattern] - 4))
    return Measured(
        server=server,
        pattern=pattern,
        battles=battles,
        complete=sum(not one.problem for one in seen),
        first=percentiles([late for one in seen for late in one.first]),
        last=percentiles([late for one in seen for late in one.last]),
        cpu_per_1000=used / (battles * 2 * CHUNKS) * 1000,
        peak_mib=peak,
        problems=tuple(one.problem for one in seen if one.problem),
    )


def relay(stack: ExitStack, upstream_port: int, battles: int) -> tuple["subprocess.Popen[str]", Plan]:
    process = stack.enter_context(started([sys.executable, "-m", "benchmarks.relay", str(upstream_port)]))
    url = f"ws://127.0.0.1:{first_line(process)}/"
    return process, Plan(urls=[url] * battles, cookies=[""] * battles, origin="http://127.0.0.1", spread_seconds=0)


def tourney(stack: ExitStack, upstream_port: int, battles: int) -> tuple["subprocess.Popen[str]", Plan]:
    port = free_port()
    environment = os.environ | {
        "TOURNEY_VAR": stack.enter_context(tempfile.TemporaryDirectory(prefix="tourney-bench-")),
        "PORT": str(port),
        "EMBEDDED_ENGINE": "0",
        "LOG_LEVEL": "WARNING",
    }
    for name in ("DATABASE_URL", "REDIS_URL", "BROKER_URL"):
        environment.pop(name, None)
    seed = [sys.executable, "-m", "benchmarks.streaming_seed", str(battles), f"http://127.0.0.1:{upstream_port}/v1"]
    output = subprocess.run(seed, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
    rows = json.loads(output.splitlines()[-1])
    command = [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(port), "arena_project.asgi:application"]
    process = stack.enter_context(started(command, environment))
    until_answering(f"http://127.0.0.1:{port}/api/v1/health/")
    return process, Plan(
        urls=[f"ws://127.0.0.1:{port}/ws/battles/{battle}/" for battle, _ in rows],
        cookies=[f"tourney_session_{port}={session}" for _, session in rows],
        origin=f"http://127.0.0.1:{port}",
        spread_seconds=0,
    )


@contextmanager
def started(command: list[str], environment: dict[str, str] | None = None) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until_answering(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            with urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise SystemExit(f"nothing answers at {url}")


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads so far, from proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def percentiles(seconds: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile, in milliseconds."""
    if len(seconds) < 2:
        return (seconds * 2 or [0.0, 0.0])[0] * 1000, (seconds * 2 or [0.0, 0.0])[0] * 1000
    return statistics.median(seconds) * 1000, statistics.quantiles(seconds, n=20)[-1] * 1000


def table(rows: list[Measured], title: str) -> Table:
    result = Table(
        title=title, caption="first and last token: milliseconds later than the upstream sent them, p50 / p95"
    )
    for name in ("server", "pattern", "battles", "complete", "first", "last", "CPU-s/1,000", "peak MiB"):
        result.add_column(name, justify="left" if name in ("server", "pattern") else "right")
    for row in rows:
        result.add_row(
            row.server,
            row.pattern,
            str(row.battles),
            str(row.complete),
            f"{row.first[0]:.0f} / {row.first[1]:.0f}",
            f"{row.last[0]:.0f} / {row.last[1]:.0f}",
            f"{row.cpu_per_1000:.3f}",
            f"{row.peak_mib:.0f}",
        )
    return result


if __name__ == "__main__":
    sys.exit(main())
