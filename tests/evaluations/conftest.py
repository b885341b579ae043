"""A ground to run evaluations on."""

from collections.abc import Iterator

import pytest

from tests.evaluations.scripted import Ground, ground
from tests.fakes.upstream import Upstream


@pytest.fixture
def tiny(db: None) -> Iterator[Ground]:
    """Three questions, and an upstream of its own: what was asked there is this test's."""
    with Upstream() as upstream:
        yield ground(upstream)
