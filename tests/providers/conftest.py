"""One fake upstream for the tests of a module."""

from collections.abc import Iterator

import pytest

from tests.fakes.upstream import Upstream


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream
