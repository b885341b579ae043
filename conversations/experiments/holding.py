"""Who plays an experiment: one process at a time, which says every second that it lives."""

import os
import socket
from datetime import timedelta
from uuid import uuid4

from django.db.models import Q
from django.utils import timezone

from common.clock import lapsed
from conversations.errors import StillSpeaking
from conversations.models import Experiment

# Long enough for a process that is held up; one that was killed on this machine is known to be dead at once.
HELD_FOR = timedelta(seconds=20)
HELD = "This experiment is being played by another process."


def experiment_hold(*, experiment: Experiment) -> str:
    """Become the one who plays it; return the name under which it is held. Raises StillSpeaking."""
    me, now = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}", timezone.now()
    row = Experiment.objects.filter(pk=experiment.pk)
    holder = row.values_list("held_by", flat=True).get()
    free = Q(held_until=None) | lapsed("held_until", now)
    if _is_dead(holder):
        free |= Q(held_by=holder)
    if not row.filter(free).update(held_by=me, held_until=now + HELD_FOR):
        raise StillSpeaking(HELD)
    return me


def experiment_hold_on(*, experiment: Experiment, name: str) -> bool:
    """Say that it is still played; False where another process has taken it over meanwhile."""
    row = Experiment.objects.filter(pk=experiment.pk, held_by=name)
    return bool(row.update(held_until=timezone.now() + HELD_FOR))


def experiment_let_go(*, experiment: Experiment, name: str) -> None:
    Experiment.objects.filter(pk=experiment.pk, held_by=name).update(held_by="", held_until=None)


def _is_dead(holder: str) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    host, _, rest = holder.partition(":")
    number = rest.partition(":")[0]
    if host != socket.gethostname() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
