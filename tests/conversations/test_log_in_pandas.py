"""The log as a researcher opens it: with pandas, as docs/experiments.md and docs/conversations.md say."""

import re
from pathlib import Path

import pandas as pd
import pytest

from conversations.experiments import services
from conversations.experiments.export import files_write
from conversations.files.log import COLUMNS, SEED_COLUMNS
from conversations.models import Experiment, Turn
from conversations.services import scenarios_seed
from tests import factories
from tests.server import ROOT

TYPES = {"text": "string", "whole number": "Int64", "number": "Float64", "truth": "boolean"}
TEXTS = ["Plain.", 'Commas, "quotes"\nand lines.', "=1+1", "NA", "null", "", "Grüße, 世界 🌍", "1", "True", " spaces "]


def _dictionary() -> dict[str, str]:
    """Column and type, from the table in the docs."""
    text = (ROOT / "docs" / "conversations.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\w+)` \| (text|whole number|number|truth) \| .+ \|$", text, re.MULTILINE))


@pytest.fixture
def made() -> Experiment:
    """One conversation in which what is hard to write was said; of every other turn nothing but the text is known."""
    scenarios_seed()
    model = factories.language_model("one")
    grid = {"name": "x", "models": ["one"], "scenarios": ["fractions"], "turns": len(TEXTS), "seed": 7}
    made = services.experiment_create(owner=factories.user(), given=grid)
    services.conversations_make(experiment=made)
    Turn.objects.bulk_create(
        Turn(
            conversation=made.conversations.get(), position=at, number=at, speaker="ab"[at % 2], model=model, text=text,
            status="finished" if text else "failed", is_refusal=at == 3, error_kind="" if text else "timeout",
            **({"latency_ms": 10 * at, "input_tokens": at, "cost": at / 1000} if at % 2 else {}),
        )
        for at, text in enumerate(TEXTS, 1)
    )  # fmt: skip
    return made


def test_the_data_dictionary_names_every_column_in_its_order() -> None:
    assert tuple(_dictionary()) == COLUMNS
    assert COLUMNS[:11] == SEED_COLUMNS == (
        "experiment_id", "turn_id", "scenario", "speaker_model", "responder_model", "content", "latency_ms",
        "input_tokens", "output_tokens", "finish_reason", "is_refusal",
    )  # fmt: skip


@pytest.mark.django_db
def test_all_three_files_open_in_pandas_with_the_types_of_the_dictionary(made: Experiment, tmp_path: Path) -> None:
    files_write(made, tmp_path)
    types = {column: TYPES[kind] for column, kind in _dictionary().items()}
    log = tmp_path / "experiment_log"
    table = pd.read_csv(f"{log}.csv", dtype=types, keep_default_na=False, na_values=[""])
    lines = pd.read_json(f"{log}.jsonl", lines=True, dtype=types).astype(types)  # started_at is read as a time
    parquet = pd.read_parquet(f"{log}.parquet").astype(types)
    for frame in (table, lines, parquet):
        assert tuple(frame.columns) == COLUMNS
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == types
        assert list(frame.turn_id) == list(range(1, len(TEXTS) + 1))
        assert list(frame.is_refusal) == [at == 3 for at in range(1, len(TEXTS) + 1)]
        assert list(frame.latency_ms.isna()) == [at % 2 == 0 for at in range(1, len(TEXTS) + 1)]
        assert frame.latency_ms.sum() == 10 * (1 + 3 + 5 + 7 + 9)
        assert frame.cost.sum() == pytest.approx(0.025)
        assert set(frame.seed) == {7}
    assert list(lines.content) == list(parquet.content) == TEXTS
    # A spreadsheet must not run a formula, and CSV does not tell an empty text from none.
    assert list(table.content.fillna("")) == ["'=1+1" if text == "=1+1" else text for text in TEXTS]


@pytest.mark.django_db
def test_without_naming_types_the_csv_opens_as_documented(made: Experiment, tmp_path: Path) -> None:
    files_write(made, tmp_path)
    log = pd.read_csv(tmp_path / "experiment_log.csv", keep_default_na=False, na_values=[""])
    assert str(log.turn_id.dtype) == "int64"
    assert str(log.is_refusal.dtype) == "bool"
    assert str(log.latency_ms.dtype) == "float64"  # because some are not known
    assert log.groupby(["speaker_model", "scenario"]).latency_ms.describe().loc[("one", "fractions"), "count"] == 5
