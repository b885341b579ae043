"""The worker's application with a task that does not end: `celery -A tests.arena_project.stuck`."""

import os
import time
from pathlib import Path

from arena_project.celery import app

BEGUN = Path(os.environ.get("STUCK_BEGUN", os.devnull))


@app.task(name="stuck")
def stuck() -> None:
    with BEGUN.open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(120)
