"""How long somebody must have had an answer before them to have read it. Pure."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

WORD = re.compile(r"[^\W_]+")
# Chinese, Japanese, Korean and Thai put no space between words; two of their characters are about one word.
UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
# A glance at a long answer may be enough (it refuses, it rambles), so that nobody is held to more than this.
LONGEST = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Pace:
    """`least`: time that every vote takes. `words_per_minute`: faster than anybody reads; 0 for no limit."""

    least: timedelta
    words_per_minute: int


def words_of(text: str) -> float:
    """About how many words a text has."""
    unspaced = len(UNSPACED.findall(text))
    return len(WORD.findall(UNSPACED.sub(" ", text))) + unspaced / 2


def is_too_fast(*, texts: list[str], visible_at: datetime, ended_at: datetime, voted_at: datetime, pace: Pace) -> bool:
    """Whether a vote came before anybody can have read the shorter of `texts`.

    Needed is `least` after both ended, and from `visible_at`, when both had begun to show, `least` and the time that
    the words of the shorter text take; but never more than LONGEST. Somebody who reads along with a slow stream has
    read when it ends.
    """
    if not pace.words_per_minute:
        return False
    reading = timedelta(minutes=min(map(words_of, texts), default=0) / pace.words_per_minute)
    needed = min(pace.least + reading, LONGEST)
    return voted_at - ended_at < pace.least or voted_at - visible_at < needed
