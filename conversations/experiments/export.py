"""An experiment as files: its log as JSON Lines and CSV, and the manifest."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from common.csv import csv_lines
from conversations.experiments.selectors import experiment_counts, experiment_log
from conversations.files.log import COLUMNS
from conversations.models import Experiment


@dataclass(frozen=True, slots=True)
class Format:
    file_name: str
    media_type: str
    write: Callable[[Experiment], Iterator[str]]


def jsonl(experiment: Experiment) -> Iterator[str]:
    """One JSON object a turn."""
    for row in experiment_log(experiment):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def csv(experiment: Experiment) -> Iterator[str]:
    """The same with a header; no cell is one that a spreadsheet would run."""
    return csv_lines(COLUMNS, ([row[name] for name in COLUMNS] for row in experiment_log(experiment)))


def manifest(experiment: Experiment) -> Iterator[str]:
    """The whole configuration, with the versions of its scenarios and of the code, and what came of it."""
    yield json.dumps(
        {
            "experiment": str(experiment.pk),
            "grid": experiment.grid,
            "scenario_versions": experiment.scenario_versions,
            "code_version": settings.VERSION,
            "created_at": experiment.created_at.isoformat(),
            "written_at": timezone.now().isoformat(),
            "counts": experiment_counts(experiment),
        },
        ensure_ascii=False,
        indent=2,
    )


FORMATS = {
    "jsonl": Format("experiment_log.jsonl", "application/jsonl; charset=utf-8", jsonl),
    "csv": Format("experiment_log.csv", "text/csv; charset=utf-8", csv),
    "manifest": Format("manifest.json", "application/json; charset=utf-8", manifest),
}


def files_write(experiment: Experiment, folder: Path) -> list[Path]:
    """Write all of them into `folder`, which is made; return where."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chosen in FORMATS.values():
        path = folder / chosen.file_name
        with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
            file.writelines(chosen.write(experiment))
        written.append(path)
    return written
