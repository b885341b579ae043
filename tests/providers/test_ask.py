"""`manage.py models` and `manage.py ask`: the catalogue and one answer in the terminal."""

import asyncio
import os
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from providers.models import LanguageModel
from tests import factories, prepared
from tests.fakes import scripts
from tests.fakes.upstream import Upstream
from tests.waiting import until

ROOT = Path(__file__).parents[2]


@pytest.fixture
def model(db: None, upstream: Upstream) -> LanguageModel:
    return factories.language_model("steady", endpoint=factories.endpoint(base_url=upstream.url))


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    call_command("ask", *arguments)
    said = capsys.readouterr()
    return said.out, said.err


def test_the_answer_goes_to_standard_output_and_the_rest_beside_it(
    model: LanguageModel, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = asked(capsys, "steady", "Why?")
    assert out == scripts.STEADY + "\n"
    assert "stop · first token" in err
    assert "tokens in" in err


def test_reasoning_is_shown_apart(model: LanguageModel, capsys: pytest.CaptureFixture[str]) -> None:
    factories.language_model("thinker", endpoint=model.endpoint)
    out, err = asked(capsys, "thinker", "Why?", "--system", "Be brief.", "--temperature", "0", "--max-tokens", "9")
    assert "Blue light" not in out
    assert "Blue light" in err


def test_a_prompt_is_read_from_standard_input(
    model: LanguageModel, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.language_model("echo", endpoint=model.endpoint)
    monkeypatch.setattr("sys.stdin", StringIO("what was piped in"))
    assert "what was piped in" in asked(capsys, "echo", "-")[0]


def test_what_goes_wrong_is_said_with_its_kind(model: LanguageModel) -> None:
    factories.language_model("refuses-401", endpoint=model.endpoint)
    with pytest.raises(CommandError, match="auth: "):
        call_command("ask", "refuses-401", "Why?")
    with pytest.raises(CommandError, match="There is no model nobody"):
        call_command("ask", "nobody", "Why?")


@pytest.mark.django_db
def test_models_says_what_can_be_asked_and_if_not_why(capsys: pytest.CaptureFixture[str]) -> None:
    factories.language_model("one", endpoint=factories.endpoint())
    factories.language_model("two", endpoint=factories.endpoint(needs_key=True, api_key_variable="ACME_KEY"))
    factories.language_model("three", endpoint=factories.endpoint(is_reachable=False))
    call_command("models")
    out = capsys.readouterr().out
    for words in ("can be asked", "ACME_KEY", "does not"):
        assert words in out


def test_ctrl_c_ends_it_at_once(upstream: Upstream, tmp_path: Path) -> None:
    """In a process of its own, with a catalogue of its own."""
    folder = tmp_path
    environment = os.environ | {"TOURNEY_VAR": str(folder), "DATABASE_URL": prepared.database_copy(folder)}
    catalogue = folder / "catalogue.yaml"
    catalogue.write_text(
        f"endpoints:\n  - name: Fake\n    base_url: {upstream.url}\n    models:\n      - upstream_id: slow\n"
    )
    load = [sys.executable, "manage.py", "catalogue_load", str(catalogue)]
    subprocess.run(load, cwd=ROOT, env=environment, check=True, timeout=60)
    out = folder / "out.txt"
    with out.open("w") as file:
        asking = subprocess.Popen(
            [sys.executable, "manage.py", "ask", "slow", "Why?"], cwd=ROOT, env=environment, stdout=file
        )
        asyncio.run(until(lambda: out.stat().st_size > 0, seconds=30))
        asking.send_signal(signal.SIGINT)
        assert asking.wait(10) == 130
