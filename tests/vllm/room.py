"""A server of its own with real vLLM engines, for the tests beside it. `make test-vllm` installs what they need."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from providers.engines.embedded import embedded_model_path
from tests.live import JSON, Person
from tests.ports import free_port
from tests.server import ROOT, Server, start

VENV = ROOT / ".venv-vllm"
PYTHON = VENV / "bin" / "python"
MODEL = VENV / "smollm2-135m"
CONTEXT, CACHE_GIB = 2048, 1
READY_WITHIN_SECONDS = 900.0  # half a minute on an idle machine
# Quick to start; whole prompts, for vLLM on CPUs dies of a seeded one that it reads in parts; no sleep mode on CPUs.
SAFE = ("--enforce-eager", "--no-enable-chunked-prefill", "--no-enable-sleep-mode")

needs_vllm = [pytest.mark.vllm, pytest.mark.skipif(not PYTHON.exists(), reason="make test-vllm installs vLLM")]


class Room:
    """A server and its engines; where no slug is said, the first of them is meant."""

    def __init__(self, server: Server, ports: Mapping[str, int]) -> None:
        self.server = server
        self.ports = ports
        self.first = next(iter(ports))
        self.person = Person(server, server.accounts[0])  # the administrator

    def engine(self, slug: str = "") -> JSON:
        status, row = self.person.call("GET", f"engines/{slug or self.first}/")
        assert status == 200, row
        return row

    def want(self, desired: str, slug: str = "") -> None:
        status, row = self.person.call("PATCH", f"engines/{slug or self.first}/", {"desired": desired})
        assert status == 200, row

    def until(self, condition: Callable[[JSON], bool], slug: str = "") -> JSON:
        late = time.monotonic() + READY_WITHIN_SECONDS
        while not condition(row := self.engine(slug)):
            assert time.monotonic() < late, row
            time.sleep(0.5)
        return row

    def state(self, state: str, slug: str = "") -> JSON:
        return self.until(lambda row: row["state"] == state, slug)

    def log(self, slug: str = "") -> str:
        return (Path(self.server.environment["TOURNEY_VAR"]) / "engines" / f"{slug or self.first}.log").read_text()

    def battle(self, prompt: str, models: Sequence[str], **fields: Any) -> JSON:
        status, made = self.person.call("POST", "battles/", {"prompt": prompt, "models": list(models), **fields})
        assert status == 201, made
        return made

    def ended(self, battle: JSON) -> set[str]:
        """How both sides of a battle end."""
        with self.person.watch(battle["id"]) as window:
            return {frame["type"] for frame in window.until_ended().values()}


def model_folder() -> Path:
    """The embedded model as vLLM reads it; made once, in about 20 s."""
    if not (MODEL / "config.json").exists():
        subprocess.run([PYTHON, ROOT / "deploy" / "gguf_to_folder.py", embedded_model_path(), MODEL], check=True)
    return MODEL


@contextmanager
def open_room(
    folder: Path, *, upstream_url: str, engines: Mapping[str, Sequence[str]], **variables: str
) -> Iterator[Room]:
    """`engines` are extra arguments by slug; `variables` settings of the server and of `engines run`."""
    model = model_folder()
    server = start(
        folder,
        upstream_url=upstream_url,
        ENGINE_PYTHON=str(PYTHON),
        MODELS_OFFLINE="true",
        VLLM_CPU_KVCACHE_SPACE=str(CACHE_GIB),
        **variables,
    )
    ports = {slug: free_port() for slug in engines}
    for slug, extra in engines.items():
        server.manage("engines", "add", slug, str(model), "--port", str(ports[slug]), "--context", str(CONTEXT),
                      "--share", "0.3", *(f"--argument={one}" for one in extra))  # fmt: skip
    keeper = subprocess.Popen([sys.executable, "manage.py", "engines", "run"], cwd=ROOT, env=server.environment)
    try:
        yield Room(server, ports)
    finally:
        keeper.terminate()
        keeper.wait(60)
        server.stop()
