"""The notebook runs from its first cell to its last, as Jupyter runs it: in one namespace, within an event loop."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ports import free_port
from tests.server import ROOT

pytestmark = [pytest.mark.embedded, pytest.mark.xdist_group("embedded")]

NOTEBOOK = ROOT / "notebooks" / "mtbench_colab.ipynb"
# Read from standard input: the cells, and what to put in place of the parameters.
RUNNER = """
import ast, asyncio, inspect, json, sys

async def main(cells, parameters):
    names = {"__name__": "__main__"}
    for cell in cells:
        found = eval(compile(cell, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.iscoroutine(found):
            await found
        if "REPOSITORY" in cell.partition("\\n")[0]:
            names |= parameters

asyncio.run(main(*json.load(sys.stdin)))
"""
SHORT_TOKENS = 12


def test_every_cell_runs_on_the_embedded_model(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
    notebook = json.loads(NOTEBOOK.read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    parameters = {
        "MAX_QUESTIONS": 2,
        "MAX_TOKENS": SHORT_TOKENS,
        "JUDGE_MAX_TOKENS": SHORT_TOKENS,
        "PORT": free_port(),
        "OUTPUT": str(tmp_path / "results"),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps([cells, parameters]),
        cwd=NOTEBOOK.parent,
        env=os.environ | {"TOURNEY_VAR": str(tmp_path / "var"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "scores of 4 answers" in done.stdout
    document = json.loads((tmp_path / "results" / "results.json").read_text())
    assert document["run"]["status"] == "done"
    assert sum(document["judgment_states"].values()) == 4
    assert "<svg" in (tmp_path / "results" / "report.html").read_text() or not document["model_results"]


def test_the_notebook_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]
