"""A fake upstream of its own for each test of this folder: what one asked is not counted in another."""

from collections.abc import Iterator

import pytest

from tests.fakes.upstream import Upstream


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream
