"""An experiment as files: its log as JSON Lines, CSV and Parquet, and the manifest."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from common.csv import csv_lines
from conversations.experiments.selectors import experiment_counts, experiment_log
from conversations.files.log import COLUMNS
from conversations.models import Agent, Experiment, Scenario
from conversations.scenarios import FIELDS
from providers.models import LanguageModel


@dataclass(frozen=True, slots=True)
class Format:
    file_name: str
    media_type: str
    write: Callable[[Experiment], Iterator[bytes]]


# Each group of rows is in memory until it is written.
ROWS_A_GROUP = 2_000
# The types of the columns; all others are text.
INTEGERS = frozenset(
    {"turn_id", "latency_ms", "input_tokens", "output_tokens", "iteration", "max_tokens", "first_token_ms", "seed"}
)
NUMBERS = frozenset({"temperature", "top_p", "cost"})
TRUTHS = frozenset({"is_refusal"})
MODEL_FIELDS = ("slug", "name", "upstream_id", "system_prompt", "temperature", "top_p", "max_tokens")


def jsonl(experiment: Experiment) -> Iterator[bytes]:
    """One JSON object a turn."""
    for row in experiment_log(experiment):
        yield (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def csv(experiment: Experiment) -> Iterator[bytes]:
    """The same with a header; no cell is one that a spreadsheet would run."""
    lines = csv_lines(COLUMNS, ([row[name] for name in COLUMNS] for row in experiment_log(experiment)))
    return (line.encode("utf-8", "replace") for line in lines)


def parquet(experiment: Experiment) -> Iterator[bytes]:
    """The same with types, as Apache Parquet; the schema is written even where there are no rows."""
    import pyarrow as arrow  # 50 MB of library that only this format needs
    from pyarrow import parquet as files

    kinds: dict[str, Any] = dict.fromkeys(INTEGERS, arrow.int64()) | dict.fromkeys(NUMBERS, arrow.float64())
    kinds |= dict.fromkeys(TRUTHS, arrow.bool_())
    schema = arrow.schema([(name, kinds.get(name, arrow.string())) for name in COLUMNS])
    rows = experiment_log(experiment)
    sink = _Sink()
    with files.ParquetWriter(arrow.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        while group := list(islice(rows, ROWS_A_GROUP)):
            writer.write_table(arrow.Table.from_pylist(group, schema=schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """A file that is handed on as it grows."""

    def __init__(self) -> None:
        super().__init__()
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._written += data
        return len(data)

    def taken(self) -> bytes:
        """What was written since it was last taken."""
        taken, self._written = bytes(self._written), bytearray()
        return taken


def manifest(experiment: Experiment) -> Iterator[bytes]:
    """The whole configuration, with its scenarios and models and the version of the code, and what came of it.

    `grid` is what `services.experiment_create` takes; the rest is for readers.
    """
    yield json.dumps(
        {
            "experiment": str(experiment.pk),
            "grid": experiment.grid | {"scenario_versions": experiment.scenario_versions},
            "scenarios": _scenarios(experiment),
            "models": _models(experiment),
            "code_version": settings.VERSION,
            "created_at": experiment.created_at.isoformat(),
            "written_at": timezone.now().isoformat(),
            "counts": experiment_counts(experiment),
        },
        ensure_ascii=False,
        indent=2,
    ).encode()


def _scenarios(experiment: Experiment) -> list[dict[str, Any]]:
    """In the versions that were played."""
    found = Scenario.objects.filter(slug__in=experiment.scenario_versions)
    played = [one for one in found if experiment.scenario_versions[one.slug] == one.version]
    return [{name: getattr(one, name) for name in ("slug", "version", *FIELDS)} for one in played]


def _models(experiment: Experiment) -> list[dict[str, Any]]:
    """As the catalogue has them now; what each turn was asked of is in the log (`upstream_model`)."""
    agents = Agent.objects.filter(conversation__experiment=experiment).order_by().values("model").distinct()
    found = LanguageModel.objects.filter(pk__in=agents).select_related("endpoint").order_by("slug")
    return [
        {name: getattr(one, name) for name in MODEL_FIELDS} | {"wire": one.endpoint.kind if one.endpoint else None}
        for one in found
    ]


FORMATS = {
    "jsonl": Format("experiment_log.jsonl", "application/jsonl; charset=utf-8", jsonl),
    "csv": Format("experiment_log.csv", "text/csv; charset=utf-8", csv),
    "parquet": Format("experiment_log.parquet", "application/vnd.apache.parquet", parquet),
    "manifest": Format("manifest.json", "application/json; charset=utf-8", manifest),
}


def files_write(experiment: Experiment, folder: Path) -> list[Path]:
    """Write all of them into `folder`, which is made; return where."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chosen in FORMATS.values():
        path = folder / chosen.file_name
        with path.open("wb") as file:
            file.writelines(chosen.write(experiment))
        written.append(path)
    return written
