"""Verdicts are read where they are clear, and nowhere else."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluations.verdicts import READERS, State, Winner, choice_read, pair_read, rating_read, scores_read

FORMS = {
    "[[rating]]": "[[rating]]",
    "[[A]]/[[B]]/[[C]]": "[[A]]",
    "two scores on a line": "[[rating_a,rating_b]]",
    "japanese, last digit 1/2/3": "1/2/3",
    "Output (a)/(b)": "[[A]]",
}
# Lines, from 0, at which the text says something else than the source recorded, read by eye.
RECORDED_WRONG = {"verdict_cases.jsonl": {79, 651, 652, 661}, "verdict_hard.jsonl": {17, 78, 127}}
READ_AT_LEAST = {"verdict_cases.jsonl": 723, "verdict_hard.jsonl": 180}


@pytest.mark.parametrize("name", READ_AT_LEAST)
def test_recorded_verdicts_are_read_and_none_is_read_wrongly(name: str, shared_data: Path) -> None:
    right, wrong = 0, set()
    for number, line in enumerate((shared_data / "verdicts" / name).read_text().splitlines()):
        row = json.loads(line)
        verdict = READERS[FORMS[row["style"]]](row["text"])
        if verdict.state is not State.OK:
            continue
        if verdict.scores:
            read: object = list(verdict.scores)
        elif verdict.score is not None:
            read = verdict.score
        else:
            read = {"a": "a1", "b": "b2", "tie": "c3"}[str(verdict.winner)]
        expected = row["expected"]
        same = str(expected).lower() in str(read) if isinstance(read, str) else read == expected
        right += same
        if not same:
            wrong.add(number)
    assert wrong == RECORDED_WRONG[name]
    assert right >= READ_AT_LEAST[name]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Fine.\n\nRating: [[7]]", 7.0),
        ("**Rating: [[7.5]]**", 7.5),
        ("```\nRating: [[4]]\n```", 4.0),
        ("Rating: [[8/10]]", 8.0),
        ("I give it 8/10.", 8.0),
        ("Rating: 6 out of 10", 6.0),
        ("Bewertung: [[6,5]]", 6.5),
        ("したがって、この回答の評価は[[5]]です。", 5.0),
        ("Rating: \uff3b\uff3b9\uff3d\uff3d", 9.0),
        ("[[3]] is what I said, and I repeat it: [[3]]", 3.0),
        ("5", 5.0),
    ],
)
def test_a_clear_rating_is_read(text: str, score: float) -> None:
    assert rating_read(text).score == score


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", State.PARSE),
        ("The answer is good, but", State.PARSE),
        ("First turn [[3]], second turn [[8]]", State.PARSE),
        ("Rating: [[8/100]]", State.PARSE),
        ("The array [3] holds the value.", State.PARSE),
        ("Rating: [[1", State.PARSE),
        ("Rating: [[10]", State.PARSE),
        ("Rating: [[11]]", State.OUT_OF_RANGE),
        ("Rating: [[0]]", State.OUT_OF_RANGE),
        ("Rating: [[-1]]", State.OUT_OF_RANGE),
        ("I'm sorry, but I can't judge this.", State.REFUSED),
    ],
)
def test_what_is_not_clear_is_no_rating(text: str, state: State) -> None:
    assert rating_read(text).state is state


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("Final verdict: [[A]]", Winner.A),
        ("[[c]]", Winner.TIE),
        ("Output (b) is better.", Winner.B),
        ("Final verdict: Assistant B", Winner.B),
        ("B", Winner.B),
    ],
)
def test_a_clear_winner_is_read(text: str, winner: Winner) -> None:
    assert pair_read(text).winner is winner


@pytest.mark.parametrize(
    "text", ["[[A]] or perhaps [[B]]", "Final verdict: [[A", "It is unclear whether Output (a) is better.", "A and B."]
)
def test_two_winners_are_none(text: str) -> None:
    assert pair_read(text).state is State.PARSE


def test_two_scores_within_a_tenth_tie() -> None:
    assert scores_read("8 8.1\nBoth are good.").winner is Winner.TIE
    assert scores_read("8 9\nBoth are good.").winner is Winner.B
    assert scores_read("8 12\n").state is State.OUT_OF_RANGE


def test_a_choice_is_the_last_digit() -> None:
    assert choice_read("アシスタント2の回答を選択します。2").winner is Winner.B


@given(st.sampled_from(sorted(READERS)), st.text())
def test_no_text_breaks_a_reader(form: str, text: str) -> None:
    verdict = READERS[form](text)
    assert (verdict.state is State.OK) == (verdict.score is not None or verdict.winner is not None)
    assert verdict.score is None or 1 <= verdict.score <= 10
