"""How much memory a model server on this machine takes while a run asks it. Linux only; elsewhere nothing is known.

A server is found by its port on loopback: whichever process listens there, started by us or not. What a GPU holds, and
what a server elsewhere or in another container takes, does not show here.
"""

import os
from pathlib import Path
from urllib.parse import urlsplit

PROC = Path("/proc")
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
LISTENS = "0A"  # Source: Linux, include/net/tcp_states.h


def listener(base_url: str) -> int | None:
    """The process that listens at an address of this machine; None for any other, or one of another user."""
    parts = urlsplit(base_url)
    if parts.hostname not in LOOPBACK:
        return None
    sockets = _sockets(parts.port or 80)
    if not sockets:
        return None
    for folder in PROC.glob("[0-9]*"):
        try:
            if any(os.readlink(entry) in sockets for entry in (folder / "fd").iterdir()):
                return int(folder.name)
        except OSError:
            continue  # it has ended meanwhile, or is another user's
    return None


def resident(process: int) -> int | None:
    """Bytes of memory that the process holds at this moment, mapped model files included."""
    try:
        pages = int((PROC / str(process) / "statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


class Watch:
    """The most memory that was seen at each of some addresses, by the names that they are given."""

    def __init__(self, addresses: dict[str, str]) -> None:
        self.peaks: dict[str, int] = {}
        self._processes = {name: found for name, url in addresses.items() if (found := listener(url)) is not None}

    def look(self) -> None:
        for name, process in self._processes.items():
            if now := resident(process):
                self.peaks[name] = max(self.peaks.get(name, 0), now)


def _sockets(port: int) -> set[str]:
    """What listens on the port, as /proc names it."""
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = (PROC / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{fields[9]}]")
    return found
