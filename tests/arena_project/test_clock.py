"""One clock asks for what is to be done now and then: the worker of `manage.py run`, or a beat of its own."""

import os
from pathlib import Path
from typing import Any

import pytest

from arena_project import celery as celery_module
from arena_project.management.commands.run import programs

START = Path(__file__).resolve().parent.parent.parent / "deploy/start.sh"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a worker that becomes ready asks for and starts."""
    asked: list[str] = []

    class Clock:
        def __init__(self, app: Any, thread: bool) -> None: ...

        def start(self) -> None:
            asked.append("clock")

    monkeypatch.setattr(celery_module, "EmbeddedService", Clock)
    monkeypatch.setattr(celery_module.app, "send_task", lambda name, countdown: asked.append(name))
    return asked


def test_the_worker_of_one_machine_is_its_clock_whatever_the_broker(
    begun: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (worker,) = [program for program in programs() if program.name == "worker"]
    for name, value in worker.environment.items():
        monkeypatch.setitem(os.environ, name, value)
    celery_module._pick_up_jobs()
    assert begun.count("clock") == 1
    assert begun[0] == "jobs_sweep"


def test_a_worker_beside_a_beat_is_none(begun: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(celery_module.IS_CLOCK, raising=False)
    celery_module._pick_up_jobs()
    assert "jobs_sweep" in begun
    assert "clock" not in begun
    assert celery_module.IS_CLOCK not in START.read_text()
