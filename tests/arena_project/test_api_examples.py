"""What docs/api-examples.md tells people to type, typed against a whole server."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import pytest
from django.conf import settings

from tests.server import Server

pytestmark = pytest.mark.xdist_group("server")
PAGE = Path(settings.BASE_DIR) / "docs" / "api-examples.md"
MODELS = ["axolotl-steady", "axolotl-other", "axolotl-thinker"]
SERVES = r"(battles|turns|preference|leaderboard|exports|imports|jobs|models)/"


def blocks(language: str) -> str:
    """All blocks of a language, in their order."""
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE))


def run(command: list[str], server: Server, folder: Path) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "API": f"{server.url}/api/v1",
        "KEY": server.accounts[6].api_key,
        "ADMIN_KEY": server.accounts[0].api_key,
        "MODELS": json.dumps(MODELS),
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(which("curl") is None, reason="there is no curl")
def test_the_examples_with_curl_work(server: Server, tmp_path: Path) -> None:
    said = run(["bash", "-euo", "pipefail", "-c", blocks("bash")], server, tmp_path)
    assert '"type":"finished"' in said.replace(" ", "")
    assert '"is_revealed":true' in said.replace(" ", "")
    assert any(json.loads(line)["chosen"] for line in (tmp_path / "dpo.jsonl").read_text().splitlines())
    assert (tmp_path / "dpo.zip").read_bytes().startswith(b"PK")
    assert re.search(r'"state": ?"queued"', said)


def test_the_examples_with_python_work(server: Server, tmp_path: Path) -> None:
    said = run([sys.executable, "-c", blocks("python")], server, tmp_path)
    assert "finished a" in said
    assert re.search(r"^\d+ rows$", said, re.MULTILINE)
    assert "400 The board “main” is not one for imports." in said


@pytest.mark.parametrize("language", ["bash", "python"])
def test_the_examples_show_every_part(language: str) -> None:
    assert set(re.findall(SERVES, blocks(language))) >= {
        "battles", "turns", "preference", "leaderboard", "exports", "imports", "jobs",
    }  # fmt: skip
