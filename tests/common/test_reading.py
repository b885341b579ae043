"""When a vote came before its answers can have been read."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.reading import LONGEST, Pace, is_too_fast, words_of

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
PACE = Pace(timedelta(seconds=1), 1500)


def judged(words: int, other: int, *, shown: float, ended: float, voted: float, pace: Pace = PACE) -> bool:
    at = [NOON + timedelta(seconds=second) for second in (shown, ended, voted)]
    texts = ["word " * words, "word " * other]
    return is_too_fast(texts=texts, visible_at=at[0], ended_at=at[1], voted_at=at[2], pace=pace)


def test_a_worked_example() -> None:
    # 100 words at 1,500 a minute take 4 s, and every vote takes 1 s.
    assert judged(100, 900, shown=0, ended=0.5, voted=4.9)
    assert not judged(100, 900, shown=0, ended=0.5, voted=5.1)


def test_who_reads_along_with_a_slow_stream_has_read_when_it_ends() -> None:
    assert not judged(500, 500, shown=0, ended=25, voted=26.1)
    assert judged(500, 500, shown=0, ended=25, voted=25.5)  # but nobody decides in half a second


def test_a_glance_at_long_answers_is_never_too_fast() -> None:
    assert not judged(9000, 9000, shown=0, ended=1, voted=LONGEST.total_seconds())


def test_no_limit_on_words_means_no_vote_is_too_fast() -> None:
    assert not judged(900, 900, shown=0, ended=1, voted=1, pace=Pace(timedelta(seconds=1), 0))


@given(st.integers(0, 2000), st.integers(0, 2000), st.floats(0, 60), st.floats(0, 60), st.floats(0.001, 60))
def test_who_waits_longer_is_never_faster(words: int, other: int, ended: float, waited: float, more: float) -> None:
    later = judged(words, other, shown=0, ended=ended, voted=ended + waited + more)
    assert not later or judged(words, other, shown=0, ended=ended, voted=ended + waited)
    assert later == judged(other, words, shown=0, ended=ended, voted=ended + waited + more)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("Why is the sky blue?", 5), ("## A_b **c** 3.5", 5), ("天空为什么是蓝的", 4), ("GPU 显存", 2)],
)
def test_words_are_counted_in_any_script(text: str, words: float) -> None:
    assert words_of(text) == words
