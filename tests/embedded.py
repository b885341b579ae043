"""A whole Tourney beside the real embedded model."""

import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from urllib.error import URLError

import pytest

from tests.ports import free_port
from tests.server import ROOT, Server, start

READY_WITHIN_SECONDS = 60


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server beside a running embedded engine, seeded as the first start does."""
    port = free_port()
    engine = subprocess.Popen([sys.executable, "-m", "providers.engines.embedded", str(port)], cwd=ROOT)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", engine)
        folder = tmp_path_factory.mktemp("embedded")
        running = start(folder, upstream_url=f"http://127.0.0.1:{port}/v1", EMBEDDED_PORT=str(port))
        try:
            running.manage("providers_seed")
            yield running
        finally:
            running.stop()
    finally:
        engine.terminate()
        engine.wait(10)


def _wait_for(url: str, engine: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + READY_WITHIN_SECONDS
    while time.monotonic() < until:
        if engine.poll() == 78:  # EX_CONFIG: the packages are not installed
            if os.environ.get("CI") == "true":
                pytest.fail("the embedded engine cannot run here")
            pytest.skip("the embedded engine is not installed")
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except (URLError, OSError):
            time.sleep(0.1)
    raise TimeoutError(url)
