"""Whether this process is being ended. Long work looks here between its steps and gives way: it leaves what it has
stored, and whoever does it next does only what is missing. No Django."""

import threading

_asked = threading.Event()


class GivesWay(Exception):
    """Raised between two steps of long work in a process that is being ended."""


def stop_ask() -> None:
    """Have long work of this process end at its next step. May be called from a signal's handler."""
    _asked.set()


def stop_take_back() -> None:
    """For tests, which share a process."""
    _asked.clear()


def is_stopping() -> bool:
    return _asked.is_set()


def step() -> None:
    """Call it where the work can be left. Raises GivesWay."""
    if _asked.is_set():
        raise GivesWay("this process is being ended")
