"""What a judgement on several answers says of each pair of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from battles.expansion import Pair, Ranking, RankingInvalid, pairs_of, ranking_clean

LABELS = ["a", "b", "c", "d"]


def outcomes(**given: object) -> dict[str, str]:
    values = {"choice": "", "winner": "", "ranking": [], "answered": LABELS} | given
    return {pair.first + pair.second: pair.outcome for pair in pairs_of(**values)}  # type: ignore[arg-type]


def test_a_winner_beats_every_other_and_nothing_is_said_of_the_others() -> None:
    assert outcomes(choice="winner", winner="b") == {"ab": "b", "bc": "a", "bd": "a"}


def test_a_ranking_expands_into_all_its_pairs() -> None:
    assert outcomes(choice="ranking", ranking=[["c"], ["a"], ["b"], ["d"]]) == {
        "ab": "a", "ac": "b", "ad": "a", "bc": "b", "bd": "a", "cd": "a",
    }  # fmt: skip


def test_equal_ranks_are_ties() -> None:
    assert outcomes(choice="ranking", ranking=[["b"], ["a", "c"]]) == {"ab": "b", "ac": "tie", "bc": "a"}


def test_who_is_not_in_the_ranking_is_not_judged() -> None:
    assert outcomes(choice="ranking", ranking=[["d"], ["a"]]) == {"ad": "b"}


def test_a_tie_and_both_bad_are_between_all() -> None:
    assert set(outcomes(choice="tie").values()) == {"tie"}
    assert outcomes(choice="both_bad", answered=["a", "c"]) == {"ac": "both_bad"}


def test_a_side_without_an_answer_takes_no_part() -> None:
    assert outcomes(choice="winner", winner="a", answered=["a", "d"]) == {"ad": "a"}


@pytest.mark.parametrize(
    ("ranking", "said"),
    [
        (["a", "x"], "There is no side x"),
        (["a", ["b", "a"]], "Side a stands in the ranking twice"),
        (["a", "d"], "Side d has no answer"),
        (["a"], "at least two"),
        ([[], []], "at least two"),
    ],
)
def test_a_ranking_that_cannot_be_is_refused_in_a_sentence(ranking: list[str | list[str]], said: str) -> None:
    with pytest.raises(RankingInvalid, match=said):
        ranking_clean(ranking, answered=["a", "b", "c"], labels=LABELS)


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    places = draw(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 4), min_size=2))
    return [[label for label in sorted(places) if places[label] == place] for place in sorted(set(places.values()))]


@given(rankings())
def test_every_pair_of_a_ranking_counts_once_and_agrees_with_it(ranking: Ranking) -> None:
    flat = [label for rank in ranking for label in rank]
    pairs = pairs_of(choice="ranking", winner="", ranking=ranking, answered=sorted(flat))
    assert len(pairs) == len({(pair.first, pair.second) for pair in pairs}) == len(flat) * (len(flat) - 1) // 2
    place = {label: number for number, rank in enumerate(ranking) for label in rank}
    for pair in pairs:
        assert pair.first < pair.second
        expected = {-1: "a", 0: "tie", 1: "b"}[
            (place[pair.first] > place[pair.second]) - (place[pair.first] < place[pair.second])
        ]
        assert pair == Pair(pair.first, pair.second, expected)  # type: ignore[arg-type]
