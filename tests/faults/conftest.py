"""One cluster for all of these tests."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import Cluster, Missing

ACCOUNTS = 11


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    # Not one of pytest's folders: they are closed to PostgreSQL, which runs as somebody else.
    with tempfile.TemporaryDirectory(prefix="tourney-cluster-") as folder:
        try:
            with Cluster(Path(folder), accounts=ACCOUNTS, proxies=("nginx", "caddy"), engine="crawling") as running:
                yield running
        except Missing as missing:
            if os.environ.get("CI") == "true":
                pytest.fail(str(missing))
            pytest.skip(str(missing))
