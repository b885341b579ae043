"""How long a run of fifty models takes to read, and how long 104,000 judgments to import:
`python -m benchmarks.evaluations_reading`.

Eighty questions of two turns, fifty models and thirteen judges in FastChat's files. Pages are asked for in this process
by Django's test client, so that what is measured is the work and no network; CPU times are those of this process. The
first view of each page is among the figures; that of the first run also loads templates and
modules. Leaves nothing behind.
"""

import json
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

MODELS, JUDGES, QUESTIONS, TURNS, VIEWS = 50, 13, 80, 2, 40
CATEGORIES = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TOURNEY_VAR": folder, "DJANGO_SETTINGS_MODULE": "arena_project.settings", "DEBUG": "false"}
        os.environ.pop("REDIS_URL", None)
        import django

        django.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        _measure(Path(folder))


def _measure(folder: Path) -> None:
    from django.test import Client

    from accounts.models import User
    from evaluations.services import run_import

    owner = User.objects.create_superuser("bench")
    client = Client(SERVER_NAME="localhost")
    client.force_login(owner)
    for judges in (1, JUDGES):
        files = folder / f"judges-{judges}"
        count = _write(files, judges)
        report, took, cpu = _timed(partial(run_import, folder=files, name=f"judges-{judges}", owner=owner))
        print(f"import of {count:,} judgments and their summary: {took:.1f} s, CPU {cpu:.1f} s")
        _pages(client, report.run, f"{MODELS} models, {QUESTIONS} questions, {judges} judges")


def _pages(client: Any, run: Any, what: str) -> None:
    from django.core.cache import caches
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    print(f"{what}:")
    pages = {"results": "", "answers": "answers/", "one question": "questions/101/", "judges": "agreement/"}
    for name, path in {**pages, "results, drawn anew": ""}.items():
        view = partial(client.get, f"/evaluations/{run.pk}/{path}")
        walls, cpus, size = [], [], 0
        for _ in range(VIEWS):
            if "anew" in name:
                caches["html"].clear()
            answer, took, cpu = _timed(view)
            assert answer.status_code == 200, answer.status_code
            walls.append(took * 1000)
            cpus.append(cpu * 1000)
            size = len(answer.content)
        with CaptureQueriesContext(connection) as queries:
            view()
        print(
            f"  {name}: first {walls[0]:.0f} ms, p50 {statistics.median(walls):.0f} ms, p95 {_p95(walls):.0f} ms, "
            f"CPU first {cpus[0]:.0f} ms, p50 {statistics.median(cpus):.0f} ms, p95 {_p95(cpus):.0f} ms, "
            f"{len(queries)} queries, {size:,} bytes"
        )


def _timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    return work(), time.perf_counter() - wall, time.process_time() - cpu


def _p95(values: list[float]) -> float:
    return sorted(values)[math.ceil(len(values) * 0.95) - 1]


def _write(folder: Path, judges: int) -> int:
    """FastChat's files of made-up answers and grades; return how many judgments they hold."""
    rng = random.Random(7)
    names = [f"model-{number:02}" for number in range(MODELS)]
    skill = {name: 3 + 5 * place / MODELS for place, name in enumerate(names)}
    numbers = range(81, 81 + QUESTIONS)
    _lines(
        folder / "question.jsonl",
        (
            {"question_id": number, "category": CATEGORIES[(number - 81) // 10], "turns": ["Why?", "And then?"]}
            for number in numbers
        ),
    )
    for name in names:
        _lines(
            folder / "model_answer" / f"{name}.jsonl",
            (
                {"question_id": number, "model_id": name, "choices": [{"turns": [f"**{name}** says " * 40] * TURNS}]}
                for number in numbers
            ),
        )
    for judge in range(judges):
        _lines(
            folder / "model_judgment" / f"judge-{judge}_single.jsonl",
            (
                {
                    "question_id": number, "model": name, "judge": [f"judge-{judge}", "single-v1"], "turn": turn,
                    "score": min(10, max(1, round(rng.gauss(skill[name], 2)))), "judgment": "I have read it. " * 20,
                }
                for number in numbers
                for name in names
                for turn in range(1, TURNS + 1)
            ),
        )  # fmt: skip
    return judges * QUESTIONS * MODELS * TURNS


def _lines(path: Path, rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
