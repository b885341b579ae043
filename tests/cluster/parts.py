"""One process of a cluster: started, killed, started again, and how much of a core it took."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
READY_WITHIN_SECONDS = 120.0
AGAIN_SECONDS = 0.5
GRACE_SECONDS = 30.0
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class Part:
    """`is_ready` is asked until it says so; `user` is who it runs as, where that is not us."""

    name: str
    command: Sequence[str]
    folder: Path
    is_ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    user: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    process: subprocess.Popen[bytes] | None = None
    earlier_cpu_seconds: float = 0.0

    def start(self) -> None:
        self.begin()
        self.wait_until_ready()

    def begin(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=ROOT,
                env=self.environment,
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        """One that ends before it is ready is begun again, as a supervisor does it: PostgreSQL refuses to start as long
        as children of a killed one are about."""
        until = time.monotonic() + READY_WITHIN_SECONDS
        while time.monotonic() < until:
            if not self.is_running:
                time.sleep(AGAIN_SECONDS)
                self.begin()
            if self.is_ready():
                return
            time.sleep(0.05)
        raise RuntimeError(f"{self.name} did not start:\n{self.log.read_text(errors='replace')[-4000:]}")

    def kill(self, number: signal.Signals = signal.SIGKILL) -> bool:
        """End it and all that it started, and wait until they are gone; whether the signal was enough."""
        if not (process := self.process):
            return True
        self.earlier_cpu_seconds += cpu_seconds(process.pid)
        self.process, is_obeyed = None, True
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            is_obeyed = False
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return is_obeyed

    def stop(self) -> bool:
        return self.kill(self.stop_signal)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def cpu(self) -> float:
        """Seconds of a core so far, with its children's."""
        return self.earlier_cpu_seconds + (cpu_seconds(self.process.pid) if self.process else 0.0)


def cpu_seconds(session: int) -> float:
    """What all processes of a session have taken, those that have ended included where their parent lives."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS_A_SECOND


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
