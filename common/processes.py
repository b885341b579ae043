"""Children in process groups of their own, and a guard that stops them when we cannot. No Django."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

STOPS_FOR_GOOD = 78  # EX_CONFIG of sysexits.h: a program's own word that a restart would not help


class Guard:
    """The process that stops our children's groups should we die without a word."""

    def __init__(self, grace: float) -> None:
        reading, self.pipe = os.pipe()
        command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("process_guard.py")), str(grace)]
        self.pid = os.posix_spawn(
            sys.executable,
            command,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, reading, 0)],
            setpgroup=0,
            # Ctrl-C in a terminal and an orderly stop are the parent's business.
            setsigmask=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP],
        )
        os.close(reading)

    def tell(self, sign: str, pid: int) -> None:
        with suppress(OSError):
            os.write(self.pipe, f"{sign}{pid}\n".encode())

    def dismiss(self) -> None:
        os.close(self.pipe)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to a whole process group; a group that is gone is fine."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def describe(how: int) -> str:
    return f"signal {signal.Signals(-how).name}" if how < 0 else f"exit status {how}"
