"""The embedded engine finds its checked model, serves it on loopback and ends when told to."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from providers.engines import embedded
from providers.engines.embedded import EmbeddedEngineError, embedded_model_path, port_is_taken
from tests.ports import free_port


def engine_serve(port: int, var: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, settings.BASE_DIR / "manage.py", "engine_serve"],
        env=os.environ | {"EMBEDDED_PORT": str(port), "TOURNEY_VAR": str(var), "EMBEDDED_ENGINE": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ask(port: int, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    port = free_port()
    process = engine_serve(port, tmp_path_factory.mktemp("var"))
    deadline = time.monotonic() + 30
    while True:
        try:
            if ask(port, "/health")[0] == 200:
                break
        except OSError:
            time.sleep(0.1)
        assert process.poll() is None, process.stdout and process.stdout.read()
        assert time.monotonic() < deadline
    yield port, process
    process.kill()
    process.wait()


@pytest.mark.embedded
class TestTheRealEngine:
    def test_it_answers_a_question(self, engine: tuple[int, subprocess.Popen[str]]) -> None:
        question = {"role": "user", "content": "Say hello."}
        status, answer = ask(
            engine[0],
            "/v1/chat/completions",
            {"model": embedded.MODEL_ALIAS, "messages": [question], "max_tokens": 24, "temperature": 0},
        )
        assert status == 200
        assert answer["choices"][0]["message"]["content"].strip()
        assert answer["usage"]["prompt_tokens"] > 0

    def test_it_lists_its_model_under_our_name_and_with_the_context_of_one_answer(
        self, engine: tuple[int, subprocess.Popen[str]]
    ) -> None:
        _, models = ask(engine[0], "/v1/models")
        assert [(model["id"], model["meta"]["n_ctx"]) for model in models["data"]] == [
            (embedded.MODEL_ALIAS, embedded.SLOT_TOKENS)
        ]

    def test_a_prompt_over_the_context_is_refused_with_the_figure(
        self, engine: tuple[int, subprocess.Popen[str]]
    ) -> None:
        question = {"role": "user", "content": "word " * 2 * embedded.SLOT_TOKENS}
        status, answer = ask(engine[0], "/v1/chat/completions", {"model": "any", "messages": [question]})
        assert status == 400
        assert answer["error"]["type"] == "exceed_context_size_error"
        assert answer["error"]["n_ctx"] == embedded.SLOT_TOKENS

    def test_a_taken_port_is_said_in_one_line(self, engine: tuple[int, subprocess.Popen[str]], tmp_path: Path) -> None:
        second = engine_serve(engine[0], tmp_path)
        output, _ = second.communicate(timeout=30)
        assert second.returncode == 1
        assert output.strip() == f"Port {engine[0]} is taken; EMBEDDED_PORT chooses another."

    def test_it_stops_at_once_when_told_to(self, engine: tuple[int, subprocess.Popen[str]]) -> None:
        port, process = engine
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == 0
        assert not port_is_taken("127.0.0.1", port)


def test_a_damaged_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "MODEL_SHA256", "0" * 64)
    with pytest.raises(EmbeddedEngineError, match="damaged"):
        embedded_model_path()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "MODEL_PACKAGE", "llm-that-nobody-has")
    with pytest.raises(EmbeddedEngineError, match="llm-that-nobody-has is not installed"):
        embedded_model_path()


def test_a_wrong_path_is_told_apart_from_a_taken_port(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedEngineError, match="there is no file"):
        embedded.serve(tmp_path / "no.gguf", free_port())
    (tmp_path / "a.gguf").touch()
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        with pytest.raises(SystemExit, match="is taken"):
            embedded.serve(tmp_path / "a.gguf", holder.getsockname()[1])
