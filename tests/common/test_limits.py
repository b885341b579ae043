"""Fixed windows on the cache."""

import pytest
import time_machine

from common import limits
from common.errors import TooMany


def test_the_limit_is_reached_and_the_next_window_opens_again() -> None:
    with time_machine.travel(1_000_000_020.0, tick=False) as clock:
        for _ in range(3):
            limits.hit("a", limit=3, seconds=60)
        with pytest.raises(TooMany) as refused:
            limits.hit("a", limit=3, seconds=60)
        assert refused.value.retry_after == 60 - 1_000_000_020 % 60
        limits.hit("b", limit=3, seconds=60)
        clock.shift(refused.value.retry_after)
        limits.hit("a", limit=3, seconds=60)


def test_a_limit_of_none_allows_nothing() -> None:
    with pytest.raises(TooMany):
        limits.hit("a", limit=0, seconds=60)
