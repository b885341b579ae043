"""Stops the supervisor's process groups when the supervisor is gone. A program of its own, without imports of ours.

Its argument is the grace in seconds; then it reads `+PID` and `-PID` from the supervisor's pipe. The pipe ends when
the supervisor does, however it died, and that works on Linux and macOS alike, where PR_SET_PDEATHSIG is Linux only
and reaches no grandchildren.
"""

import contextlib
import os
import signal
import sys
import time


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end(groups: set[int], number: signal.Signals) -> None:
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # gone already
            os.killpg(group, number)


def main() -> None:
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    end(groups, signal.SIGTERM)
    deadline = time.monotonic() + float(sys.argv[1])
    while any(alive(group) for group in groups) and time.monotonic() < deadline:
        time.sleep(0.05)
    end(groups, signal.SIGKILL)


if __name__ == "__main__":
    main()
