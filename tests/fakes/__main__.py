"""The fake upstream as a process of its own: `python -m tests.fakes PORT`."""

import signal
import sys

from tests.fakes.upstream import Upstream

if __name__ == "__main__":
    with Upstream(port=int(sys.argv[1])):
        signal.pause()
