"""How much memory a model server on this machine takes while a run asks it. Linux only; elsewhere nothing is known.

A server is found by its port on loopback: whichever process listens there, started by us or not. What it and the
processes that it started hold on a GPU is read where nvidia-ml-py is installed and the driver says it. What a server
elsewhere or in another container takes does not show here.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from providers.engines.gpus import NoGpu, processes_read

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


def parent(process: int) -> int:
    """The process that started it; 0 where it has none, or is gone."""
    try:
        return int((PROC / str(process) / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


class Watch:
    """The most memory that was seen at each of some addresses, in bytes, by the names that they are given: `process`,
    what the process holds that listens there, and `gpu`, what it and all that it started hold on one GPU, the fullest
    of theirs."""

    def __init__(self, addresses: dict[str, str]) -> None:
        self.peaks: dict[str, dict[str, int]] = {}
        self._processes = {name: found for name, url in addresses.items() if (found := listener(url)) is not None}
        self._reads_gpus = bool(self._processes)

    def look(self) -> None:
        for name, process in self._processes.items():
            self._note(name, "process", resident(process) or 0)
        for held in self._gpus():
            for name, process in self._processes.items():
                self._note(name, "gpu", sum(size for pid, size in held.items() if process in _line_of(pid)))

    def _gpus(self) -> list[dict[int, int]]:
        try:
            return processes_read() if self._reads_gpus else []
        except NoGpu:
            self._reads_gpus = False  # there is none, and none will come
            return []

    def _note(self, name: str, kind: str, size: int) -> None:
        if size:
            peaks = self.peaks.setdefault(name, {})
            peaks[kind] = max(peaks.get(kind, 0), size)


def _line_of(process: int) -> Iterator[int]:
    """A process, who started it, who started that one, and so on."""
    while process > 1:
        yield process
        process = parent(process)


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
