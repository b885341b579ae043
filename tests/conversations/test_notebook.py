"""The notebook, cell by cell, on a small log."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from conversations.experiments import sample
from conversations.experiments.analysing import summarise
from conversations.experiments.export import files_write
from conversations.services import scenarios_seed
from tests.conversations.test_analysing import played
from tests.server import ROOT

NOTEBOOK = ROOT / "notebooks" / "experiments.ipynb"


@pytest.mark.django_db
def test_the_notebook_comes_from_the_log_to_figures_that_agree_with_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenarios_seed()
    made = played("x")
    files_write(made, tmp_path)
    monkeypatch.setenv("EXPERIMENT_LOG", str(tmp_path / "experiment_log.csv"))
    mpl.use("agg")
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    with mpl.rc_context():
        for cell in cells:
            if cell["cell_type"] == "code":
                assert not cell["outputs"], "is kept without outputs"
                exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    names["plt"].close("all")
    figures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert figures == {"latency.svg", "tokens.svg", "refusals.svg", "words.svg"}
    for one in summarise(sample.sample_read(made, measure="latency_ms").facts("model")):
        row = names["means"].loc[one.group]
        assert (row["mean"], row["lower"], row["upper"]) == pytest.approx((one.mean, one.lower, one.upper), rel=0.02)
    for measure in ("diversity", "similarity"):
        for one in summarise(sample.sample_read(made, measure=measure).facts("model")):
            said = names["said"]
            assert said[said.speaker_model == one.group][measure].mean() == pytest.approx(one.mean)
    assert list(names["comparison"].index) == ["fractions - night-bus"]
