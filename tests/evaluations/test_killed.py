"""A run that is killed loses only what was under way."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.evaluations.scripted import Always, Says
from tests.fakes.upstream import Upstream
from tests.server import ROOT, Server

pytestmark = pytest.mark.xdist_group("server")

QUESTIONS = 8


def test_what_was_answered_before_a_kill_is_not_asked_again(
    server: Server, upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(upstream.scripts, "held", Says("held", seconds=0.05))  # one at a time
    monkeypatch.setitem(upstream.scripts, "echo", Always("Rating: [[7]]"))
    questions = tmp_path / "question.jsonl"
    rows = [{"question_id": n, "category": "math", "turns": [f"What is {n}?", "Sure?"]} for n in range(QUESTIONS)]
    questions.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    server.manage("questions_import", str(questions), "--set", "killed")
    before = len(upstream.asked("held"))
    command = [
        "--models",
        "axolotl-narrow-held",
        "--judge-model",
        "axolotl-echo",
        "--set",
        "killed",
        "--name",
        "killed",
    ]
    run = subprocess.Popen(
        [sys.executable, "manage.py", "mtbench", *command],
        cwd=ROOT,
        env=server.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    while len(upstream.asked("held")) - before < QUESTIONS and time.monotonic() < until:
        time.sleep(0.01)
    run.send_signal(signal.SIGKILL)
    run.wait()
    table = server.manage("mtbench", "--resume", "--name", "killed", "--output-dir", str(tmp_path / "out"))
    assert "Narrow axolotl held" in table
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    assert document["model_results"][0]["overall_score"]["count"] == 2 * QUESTIONS
    # What was under way is asked again, and perhaps turned away while the upstream is still busy with it.
    assert 2 * QUESTIONS <= len(upstream.asked("held")) - before < 2 * QUESTIONS + QUESTIONS // 2
