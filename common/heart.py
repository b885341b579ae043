"""Says now and then that a process still works at something, so that others need not wait for a dead one."""

import logging
import threading
from collections.abc import Callable

from django.db import connection

log = logging.getLogger(__name__)


class Heart(threading.Thread):
    """Calls `beat` every so many seconds, whatever the work itself is at, until `stop` or the end of a `with`."""

    def __init__(self, beat: Callable[[], object], *, seconds: float) -> None:
        super().__init__(daemon=True)
        self._beat = beat
        self._seconds = seconds
        self._stopped = threading.Event()

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._beat()
            except Exception as error:  # a busy database now is no reason to stop beating
                log.warning("a beat was missed: %r", error)
            finally:
                connection.close()
