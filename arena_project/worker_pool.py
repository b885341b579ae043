"""How a worker runs its tasks, and how it lets go of them when it is ended.

Threads: tasks are NumPy and SciPy, which let other threads run, or an event loop that mostly waits. A thread cannot be
ended from outside, and Celery would wait for it for ever. Here a worker that is asked to end begins nothing more, waits
for a moment, and leaves the rest: the broker gets back what was not acknowledged, and the next worker does it. Every
task may be left at any point, for it may also be killed there.
"""

import logging
import os
import sys
from concurrent.futures import Future, wait
from typing import Any, cast

from celery import Task
from celery.concurrency import thread
from celery.exceptions import Reject
from celery.signals import worker_shutdown, worker_shutting_down
from celery.worker import state

from common.stopping import GivesWay, is_stopping, stop_ask

log = logging.getLogger(__name__)

# Celery may take two seconds to hear a signal; with both a worker is gone well within the grace of whoever ends it.
ENDS_WITHIN_SECONDS = 3.0


class HandedOnTask(Task):  # type: ignore[type-arg]
    """A task that gives way is put back into the queue."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.run(*args, **kwargs)
        except GivesWay as reason:
            raise Reject(str(reason), requeue=True) from None


class Threads(thread.TaskPool):
    """Celery's pool of threads, but that it stops within ENDS_WITHIN_SECONDS."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._under_way: set[Future[Any]] = set()

    def on_apply(self, *args: Any, **kwargs: Any) -> Any:
        if is_stopping():  # it stays unacknowledged, and goes back
            return cast(Any, thread).ApplyResult(Future())
        applied = super().on_apply(*args, **kwargs)
        self._under_way.add(applied.f)
        applied.f.add_done_callback(self._under_way.discard)
        return applied

    def on_stop(self) -> None:
        cast(Any, self).executor.shutdown(wait=False, cancel_futures=True)
        _, left = wait(tuple(self._under_way), timeout=ENDS_WITHIN_SECONDS)
        if left:
            names = ", ".join(sorted({request.name for request in tuple(state.active_requests)}))
            log.warning("Left to the next worker, for it did not end in %g s: %s", ENDS_WITHIN_SECONDS, names)


@worker_shutdown.connect
def _end_now(sender: Any = None, **signal: Any) -> None:
    """All is done and the broker has its messages back; Python would wait for threads that were left, and on a busy
    machine take seconds to clear its memory."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(sender.exitcode or 0)


@worker_shutting_down.connect
def _stop(**signal: Any) -> None:
    stop_ask()
