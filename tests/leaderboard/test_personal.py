"""A person's own ranking: everyone's at first, their own with time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.statistics import bradley_terry
from leaderboard.statistics.personal import personal
from leaderboard.statistics.types import BOTH_BAD, TIE, A, B, Counts

EVERYONE = np.array([1200.0, 1000.0, 800.0])


def test_without_votes_it_is_everyones_ranking() -> None:
    mine = personal(Counts.of(3, [], [], []), EVERYONE)
    assert mine.ratings == pytest.approx(EVERYONE)
    assert mine.upper - mine.ratings == pytest.approx(np.full(3, 196), abs=0.1)
    assert mine.comparisons.tolist() == [0, 0, 0]


def test_few_votes_move_it_a_little_and_many_move_it_to_the_persons_own() -> None:
    few = personal(Counts.of(3, [2], [0], [A]), EVERYONE)
    assert few.shift[2] > 0 > few.shift[0]
    assert few.ratings[0] > few.ratings[2]
    votes = ([2, 2, 1, 1], [0, 0, 0, 2], [A, B, A, B])
    many = Counts.of(3, *votes, number=[6000, 4000, 5500, 4500], weight=[6000.0, 4000.0, 5500.0, 4500.0])
    gap = bradley_terry.fit(many).ratings
    mine = personal(many, EVERYONE)
    assert mine.ratings - mine.ratings.mean() == pytest.approx(gap - gap.mean(), abs=2)


def test_a_vote_says_little_about_models_that_it_was_not_about() -> None:
    mine = personal(Counts.of(3, [2], [0], [A]), EVERYONE)
    assert mine.shift[1] == pytest.approx(0)
    assert mine.comparisons.tolist() == [1, 0, 1]


def test_a_model_that_nobody_rated_starts_at_the_mean() -> None:
    mine = personal(Counts.of(2, [0], [1], [BOTH_BAD]), np.array([1100.0, np.nan]))
    assert mine.ratings == pytest.approx([1100, 1000])


games = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([A, B, TIE])).filter(lambda it: it[0] != it[1]),
    max_size=30,
)


@given(games, st.randoms())
@settings(max_examples=50)
def test_neither_order_nor_sides_matter_and_every_number_is_finite(
    played: list[tuple[int, int, int]], random: object
) -> None:
    swapped = [(b, a, {A: B, B: A, TIE: TIE}[outcome]) for a, b, outcome in played]
    random.shuffle(swapped)  # type: ignore[attr-defined]
    one, other = (
        personal(Counts.of(3, *(zip(*rows, strict=True) if rows else ([], [], []))), EVERYONE)
        for rows in (played, swapped)
    )
    assert one.ratings == pytest.approx(other.ratings)
    assert np.isfinite(one.upper).all()


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """300 people whose taste is drawn as the prior says, 30 votes each: 95% of 900, give or take four errors."""
    rng = np.random.default_rng(9)
    held = 0
    for _ in range(300):
        taste = EVERYONE + rng.normal(0, 100, 3)
        first = rng.integers(0, 3, 30)
        second = (first + rng.integers(1, 3, 30)) % 3
        chance = 1 / (1 + 10 ** ((taste[second] - taste[first]) / 400))
        mine = personal(Counts.of(3, first, second, np.where(rng.random(30) < chance, A, B)), EVERYONE)
        held += int(((mine.lower < taste) & (taste < mine.upper)).sum())
    assert 0.92 < held / 900 < 0.98


@pytest.mark.parametrize("spread", [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_spread_is_refused(spread: float) -> None:
    with pytest.raises(ValueError, match="spread"):
        personal(Counts.of(3, [], [], []), EVERYONE, spread=spread)


def test_nobody_has_no_ranking() -> None:
    assert personal(Counts.of(0, [], [], []), np.array([])).ratings.shape == (0,)
