"""Reads a judge's verdict out of its words. Pure.

A wrong reading is worse than none: where a text holds two verdicts that differ, or says nothing clear, there is none.
The first forms are those of FastChat's `llm_judge` ([[5]], [[A]], [[B]], [[C]]), the others those of FastChat's first
judge (two scores on the first line), Rakuda (1, 2 or 3 at the end) and LLMBar (Output (a)).
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

LOWEST, HIGHEST = 1.0, 10.0
# Source: FastChat, fastchat/llm_judge/common.py
TIE_DELTA = 0.1


class State(StrEnum):
    """How judging ended: with a verdict, or why there is none."""

    OK = "ok"
    PARSE = "parse"
    OUT_OF_RANGE = "out_of_range"
    REFUSED = "refused"
    RATE = "rate"
    TIMEOUT = "timeout"
    UPSTREAM = "upstream"


class Winner(StrEnum):
    A = "a"
    B = "b"
    TIE = "tie"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was read. `score`, `winner` or `ratings` where the state is OK, and `scores` where the form has one for each
    side."""

    state: State
    score: float | None = None
    winner: Winner | None = None
    scores: tuple[float, float] | None = None
    ratings: Mapping[str, float] | None = None
    """Of a rubric: by criterion, on the rubric's own scale."""


NONE = Verdict(State.PARSE)
NUMBER = r"(-?\d+(?:[.,]\d+)?)"
OUT_OF = r"\s*(?:(?:/|out of)\s*(\d+))?"
# A verdict that ends within its brackets: [[1 may have been to be [[10]].
CUT = re.compile(r"\[\[[^\]\n]*\]?\Z")
# In the order of trust; the first form that occurs at all decides, and its finds must agree.
RATINGS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"\[\[\s*(?:(?:final\s+)?(?:rating|score)\s*[:=]?\s*)?{NUMBER}{OUT_OF}\s*\]\]",
        rf"(?:rating|score|評価|評点|点数|bewertung|note|puntuación|评分)[^\n\d\[]{{0,12}}\[\s*{NUMBER}{OUT_OF}\s*\]",
        rf"^\W*(?:(?:final|overall|my)\s+)*(?:rating|score|評価|評点|bewertung|note|puntuación|评分)\W{{0,6}}{NUMBER}{OUT_OF}\W*$",
        rf"^\W*\[?{NUMBER}\]?{OUT_OF}\W*\Z",
        r"(?<![\d.,/])(\d+(?:[.,]\d+)?)\s*/\s*(10)(?![\d/])",
    )
)
LETTERS = {"a": Winner.A, "b": Winner.B, "c": Winner.TIE, "tie": Winner.TIE}
SIDE = r"(?:assistant|output|answer|response|model)"
PAIRS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"\[\[\s*([abc]|tie)\s*\]\]",
        rf"(?:verdict|winner|choice)\W{{0,6}}(?:is\W{{1,3}})?(?:{SIDE}\W{{0,3}})?\[?\(?\b([abc]|tie)\b\)?\]?\W*$",
        rf"\b{SIDE}\s*\(?([ab])\)?\s+(?:is|was|seems|appears)\s+(?:(?:clearly|slightly|overall|generally|still|to be|"
        r"therefore|also|definitely|much|the)\s+)*(?:better|best|preferable|superior)\b(?!\s+(?:at|in|on|for|than\s+nothing))",
        rf"\A\W*{SIDE}?\s*\[?\(?\b([abc]|tie)\b\)?\]?\W*\Z",
    )
)
NOT_BETTER = re.compile(r"\b(?:if|whether|not|neither|which|why|how)\b[^.\n]{0,40}\Z", re.IGNORECASE)
FIRST_LINE = re.compile(rf"\A\s*{NUMBER}[,;]?[ \t]+{NUMBER}[ \t]*(?:$|\n|(?=[A-Z]))", re.MULTILINE)
TWO_RATINGS = re.compile(rf"\[\[\s*{NUMBER}\s*,\s*{NUMBER}\s*\]\]|\A.*?\({NUMBER},\s*{NUMBER}\)\W*\Z", re.DOTALL)
EACH_RATING = re.compile(
    r"\bassistant ([12])(?:'s)?(?: score)?(?: is)?\s*[:\-]?\s*(?:score\s*[:\-]?\s*)?(?<![\d.,/])"
    rf"{NUMBER}\s*(?:/\s*10|out of 10)?(?=\s*(?:[\n.;,(]|and\b|\Z))",
    re.IGNORECASE,
)
LAST_DIGIT = re.compile(r"(?<!\d)([123])\W*\Z")
CHOSEN = re.compile(r"(?<!\d)([123])\s*(?:を選|を出力|を与え|と評価|と判断|となり|とし|です)[^。\n]{0,12}。?\W*\Z")
SENTENCE = re.compile(r"[^。\n]+")
# "The answer of assistant 1 is better": the side as the subject, and not the one that it is better than.
PRAISED = re.compile(r"アシスタント([12])(?:の回答)?(?:の方)?(?:が|を|に|は)(?!.*(?:劣|低い))")
PRAISE = re.compile(r"優れ|より有用|より適切|より良|より高|高いです|高い評価|高く評価|選択|選び|支持")
CHOICES = {"1": Winner.A, "2": Winner.B, "3": Winner.TIE}
REFUSAL = re.compile(
    r"\A\W*(?:(?:i'm|i am) (?:very |really )?(?:sorry|not able|unable)|sorry|i apologi[sz]e|as an ai|i can(?:not|'t)"
    r"|i won't)\b",
    re.IGNORECASE,
)


def rating_read(text: str, *, low: float = LOWEST, high: float = HIGHEST) -> Verdict:
    """One score from `low` to `high`: [[7]], else a form that is as clear."""
    words = _plain(text)
    if CUT.search(words):
        return NONE
    for pattern in RATINGS:
        found = {_rating(match, high) for match in pattern.finditer(words)}
        if len(found) > 1 or None in found:
            return NONE
        for score in found:
            assert score is not None
            return Verdict(State.OK, score=score) if low <= score <= high else Verdict(State.OUT_OF_RANGE)
    return _none(words)


def pair_read(text: str) -> Verdict:
    """Which of two is better: [[A]], [[B]] or [[C]] for a tie, else a form that is as clear."""
    words = _plain(text)
    if CUT.search(words):
        return NONE
    for pattern in PAIRS:
        found = {
            LETTERS[match[1].lower()]
            for match in pattern.finditer(words)
            if not NOT_BETTER.search(words[max(0, match.start() - 60) : match.start()])
        }
        if len(found) > 1:
            return NONE
        if found:
            return Verdict(State.OK, winner=found.pop())
    return _none(words)


def scores_read(text: str) -> Verdict:
    """Two scores, on the first line or as [[8,7]]; the higher wins, and those within 0.1 of each other tie."""
    words = _plain(text)
    match = FIRST_LINE.match(words)
    if match:
        found = {match.groups()}
    else:
        found = {tuple(filter(None, pair.groups())) for pair in TWO_RATINGS.finditer(words)} or _each(words)
    if len(found) != 1:
        return NONE if found else _none(words)
    first, second = (float(number.replace(",", ".")) for number in found.pop())
    if min(first, second) < LOWEST or max(first, second) > HIGHEST:
        return Verdict(State.OUT_OF_RANGE)
    winner = Winner.TIE if abs(first - second) <= TIE_DELTA else Winner.A if first > second else Winner.B
    return Verdict(State.OK, winner=winner, scores=(first, second))


def choice_read(text: str) -> Verdict:
    """1, 2, or 3 for a tie, at the very end, or a last sentence in Japanese that calls one of them better."""
    words = _plain(text)
    match = LAST_DIGIT.search(words) or CHOSEN.search(words)
    if match:
        return Verdict(State.OK, winner=CHOICES[match[1]])
    sentences = SENTENCE.findall(words)
    last = sentences[-1] if sentences else ""
    sides = set(PRAISED.findall(last))
    if PRAISE.search(last) and len(sides) == 1:
        return Verdict(State.OK, winner=CHOICES[sides.pop()])
    return _none(words)


def ratings_read(text: str, names: Sequence[str], *, low: float, high: float) -> Verdict:
    """A rating of each criterion of a rubric, as in `clarity: [[4]]`, else as in `clarity: 4`. One that is missing, or
    that has two different ratings, is no verdict."""
    words = _plain(text)
    if CUT.search(words):
        return NONE
    ratings: dict[str, float] = {}
    for name in names:
        for pattern in _rated(name):
            found = {_rating(match, high) for match in pattern.finditer(words)}
            if len(found) > 1 or None in found:
                return NONE
            if found:
                ratings[name] = float(found.pop() or 0)
                break
        else:
            return _none(words)
    if not all(low <= rating <= high for rating in ratings.values()):
        return Verdict(State.OUT_OF_RANGE)
    return Verdict(State.OK, ratings=ratings)


def _rated(name: str) -> tuple[re.Pattern[str], ...]:
    named = rf"(?<!\w){re.escape(name)}\W{{0,6}}"
    return tuple(
        re.compile(pattern, re.IGNORECASE | re.MULTILINE)
        for pattern in (rf"{named}\[\[\s*{NUMBER}{OUT_OF}\s*\]\]", rf"^\W*{named}{NUMBER}{OUT_OF}\W*$")
    )


# The `output_format` of a rubric's prompt, whose reader needs to know the criteria.
RATINGS_FORM = "[[criterion ratings]]"
# By the `output_format` of a judge prompt. Another form is one function and one line here.
READERS: dict[str, Callable[[str], Verdict]] = {
    "[[rating]]": rating_read,
    "[[A]]": pair_read,
    "[[rating_a,rating_b]]": scores_read,
    "1/2/3": choice_read,
}


def _plain(text: str) -> str:
    """Full-width digits and brackets as ASCII, without the marks of bold text and code."""
    return unicodedata.normalize("NFKC", text).replace("**", "").replace("`", "").replace("\u2019", "'").strip()


def _each(words: str) -> set[tuple[str, ...]]:
    """The scores where each side has a line of its own, if neither has two."""
    given = {side: {number for one, number in EACH_RATING.findall(words) if one == side} for side in "12"}
    return {(given["1"].pop(), given["2"].pop())} if all(len(found) == 1 for found in given.values()) else set()


def _rating(match: re.Match[str], high: float) -> float | None:
    """The number; None where it is out of something that is not our scale."""
    if match[2] is not None and float(match[2]) != high:
        return None
    return float(match[1].replace(",", "."))


def _none(words: str) -> Verdict:
    return Verdict(State.REFUSED) if REFUSAL.match(words) else NONE
