"""A worker that dies in the middle of an import leaves nothing, and the import can be begun again."""

import json
from pathlib import Path

import pytest

from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")
ROWS = 300
# The check has read every row by then, and some are stored.
KILLED = """
import os, signal
from leaderboard import loading
from leaderboard.models import Comparison
from battles.imports.battles import battles_import
loading.BATCH = 50
values = loading._values
def dies(one, count=[0]):
    count[0] += 1
    if count[0] == 200:
        print(Comparison.objects.filter(board="killed").count(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return values(one)
loading._values = dies
battles_import(file=open({path!r}, "rb"), board="killed")
"""
LEFT = """
from leaderboard.models import Board, Comparison
from providers.models import LanguageModel
print(Comparison.objects.filter(board="killed").count(), Board.objects.filter(slug="killed").count(),
      LanguageModel.objects.filter(name__startswith="Killed").count())
"""


def test_what_a_killed_import_had_stored_is_gone_and_it_can_begin_again(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    row = {"model_a": "Killed A", "model_b": "Killed B", "winner": "tie"}
    path.write_text("".join(json.dumps(row | {"tstamp": number}) + "\n" for number in range(ROWS)))
    with pytest.raises(RuntimeError, match="failed"):
        server.manage("shell", "-v0", "-c", KILLED.format(path=str(path)))
    assert server.manage("shell", "-v0", "-c", LEFT).split() == ["0", "0", "0"]
    assert "300 new" in server.manage("battles_import", str(path), "--board", "killed")
    assert server.manage("shell", "-v0", "-c", LEFT).split() == [str(ROWS), "1", "2"]
