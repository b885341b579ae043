"""What an engine can be, and what can be wanted of it. Pure; the names are stored and shown."""

from dataclasses import dataclass
from enum import StrEnum


class Wanted(StrEnum):
    AWAKE = "awake"
    ASLEEP = "asleep"
    STOPPED = "stopped"


class State(StrEnum):
    STOPPED = "stopped"
    STARTING = "starting"  # its process loads the model, or waits until another of its GPU has started
    READY = "ready"
    DRAINING = "draining"  # finishes what it answers; nothing new goes there
    ASLEEP = "asleep"
    WAKING = "waking"
    FAILED = "failed"  # it ended by itself, and is started again after a while
    UNREACHABLE = "unreachable"  # of another machine, and does not answer, or sleeps there


# Who asks such an engine may wait for it; the others cannot answer.
SLEEPY = frozenset({State.ASLEEP, State.WAKING, State.DRAINING})


@dataclass(frozen=True)
class Report:
    """How an engine is, as its keeper says it."""

    state: State
    reason: str = ""
    restarts: int = 0
    running: int = 0
    waiting: int = 0
    cache_used: float = 0.0
    cache_tokens: int | None = None
    log_tail: str = ""
