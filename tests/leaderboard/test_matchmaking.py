"""Who meets whom: beliefs, scores and draws."""

from collections import Counter
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leaderboard.matchmaking import TOP, UNIFORM_SHARE, believe, boosts, by_weight, draw, join, pair_chances, usefulness
from leaderboard.statistics.types import Floats

weights = st.lists(st.one_of(st.just(0.0), st.floats(0.01, 100)), min_size=3, max_size=6)


def points(n: int, *games: tuple[int, int, float, float]) -> Floats:
    """What each got against each, from (first, second, points of the first, points of the second)."""
    table = np.zeros((n, n))
    for first, second, won, lost in games:
        table[first, second] += won
        table[second, first] += lost
    return table


def test_pairs_are_drawn_in_proportion_to_their_scores() -> None:
    scores = by_weight([1, 2, 3, 0])
    rng = Random(1)
    drawn = Counter(frozenset(draw(scores, 2, rng).members) for _ in range(6000))
    for pair, share in (((0, 1), 2 / 11), ((0, 2), 3 / 11), ((1, 2), 6 / 11)):
        assert drawn[frozenset(pair)] / 6000 == pytest.approx(share, abs=0.03)
    assert not any(3 in pair for pair in drawn)


def test_each_of_a_pair_stands_first_half_the_time() -> None:
    rng = Random(2)
    first = sum(draw(by_weight([1, 1]), 2, rng).members[0] == 0 for _ in range(2000))
    assert 850 < first < 1150


def test_the_same_seed_draws_the_same() -> None:
    scores = by_weight([1.0] * 8)
    assert draw(scores, 4, Random(5)) == draw(scores, 4, Random(5))


def test_no_pair_comes_twice_in_a_row_unless_it_is_the_only_one() -> None:
    rng = Random(3)
    assert not any(set(draw(by_weight([9, 9, 1]), 2, rng, unlike=(0, 1)).members) == {0, 1} for _ in range(200))
    only = draw(by_weight([9, 9, 0]), 2, rng, unlike=(0, 1))
    assert (set(only.members), only.propensity) == ({0, 1}, 1.0)


def test_one_model_is_no_pair_and_three_are_too_few_for_four() -> None:
    for scores, k in ((by_weight([1]), 2), (by_weight([1, 0, 0]), 2), (by_weight([1, 1, 1]), 4), (by_weight([]), 2)):
        with pytest.raises(ValueError, match="needed"):
            draw(scores, k, Random(1))


@given(weights)
def test_the_chances_of_all_pairs_sum_to_1(given: list[float]) -> None:
    if np.count_nonzero(given) < 2:
        with pytest.raises(ValueError, match="no two"):
            pair_chances(by_weight(given))
        return
    chances = pair_chances(by_weight(given), unlike=(0, 1))
    assert np.triu(chances).sum() == pytest.approx(1)
    assert np.array_equal(chances, chances.T)


def test_the_propensities_of_all_line_ups_sum_to_1_and_are_how_often_they_come() -> None:
    scores = by_weight([1, 2, 3, 4, 5]) * usefulness(np.array([0.0, 0.3, 0.6, 0.9, 2.0]), np.eye(5) / 10)
    rng = Random(4)
    seen: dict[frozenset[int], float | None] = {}
    drawn: Counter[frozenset[int]] = Counter()
    for _ in range(4000):
        one = draw(scores, 3, rng)
        seen[frozenset(one.members)] = one.propensity
        drawn[frozenset(one.members)] += 1
    assert len(seen) == 10
    assert sum(chance or 0 for chance in seen.values()) == pytest.approx(1)
    assert all(drawn[them] / 4000 == pytest.approx(chance, abs=0.03) for them, chance in seen.items())


def test_all_there_are_is_a_certain_line_up() -> None:
    assert draw(by_weight([1, 2, 3, 4]), 4, Random(1)).propensity == pytest.approx(1)


def test_who_joins_goes_by_the_scores_with_those_who_stay() -> None:
    scores = points(3, (0, 1, 1.0, 1.0), (0, 2, 3.0, 3.0))
    rng = Random(6)
    joined = Counter(join(scores, [0], rng) for _ in range(2000))
    assert joined[2] / 2000 == pytest.approx(0.75, abs=0.05)
    assert join(scores, [0, 1, 2], rng) is None


def test_a_belief_is_where_wins_and_prior_balance() -> None:
    """Two models, one win each way, is nothing known of who is ahead; three wins to one are ln 3 less some prior."""
    assert believe(points(2, (0, 1, 1, 1)))[0] == pytest.approx([0, 0])
    strengths, covariance = believe(points(2, (0, 1, 300, 100)))
    assert strengths[0] - strengths[1] == pytest.approx(np.log(3), abs=0.02)
    # 400 games of variance 3/16 each.
    assert covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1] == pytest.approx(16 / 3 / 400, rel=0.02)


def test_who_met_nobody_is_believed_to_be_average_and_little_is_known_of_them() -> None:
    strengths, covariance = believe(points(3, (0, 1, 40, 10)))
    assert strengths[2] == pytest.approx(0, abs=1e-9)
    assert covariance[2, 2] > 1.9 * covariance[0, 0]


def test_groups_that_never_met_are_joined_first() -> None:
    scores = usefulness(*believe(points(4, (0, 1, 60, 40), (2, 3, 60, 40))))
    between = [scores[i, j] for i in (0, 1) for j in (2, 3)]
    assert min(between) > max(scores[0, 1], scores[2, 3])


def test_only_wins_are_no_certainty() -> None:
    strengths, _ = believe(points(2, (0, 1, 1000, 0)))
    assert np.isfinite(strengths).all()
    assert strengths[0] > strengths[1]


def test_an_open_pair_comes_before_a_settled_one() -> None:
    scores = usefulness(np.array([0.0, 0.05, 3.0]), np.eye(3) / 50)
    assert scores[0, 1] > 10 * scores[0, 2]


def test_the_less_known_pair_comes_first() -> None:
    scores = usefulness(np.array([0.0, 0.0, 0.0]), np.diag([0.01, 0.01, 0.1]))
    assert scores[0, 2] > 2 * scores[0, 1]


def test_pairs_at_the_top_come_before_those_at_the_bottom() -> None:
    n = 5 * TOP
    scores = usefulness(np.linspace(2, -2, n), np.eye(n) / 100)
    assert scores[0, 1] > 5 * scores[n - 2, n - 1]


@given(arrays(np.float64, 5, elements=st.floats(-8, 8)), arrays(np.float64, 5, elements=st.floats(1e-6, 4)))
def test_no_pair_is_given_up_and_none_is_nan(strengths: Floats, variances: Floats) -> None:
    scores = usefulness(strengths, np.diag(variances))
    pairs = [scores[pair] for pair in combinations(range(5), 2)]
    assert min(pairs) >= UNIFORM_SHARE * 0.999
    assert np.mean(pairs) == pytest.approx(1)
    assert np.array_equal(scores, scores.T)


def test_a_new_model_is_boosted_until_it_has_its_votes() -> None:
    assert boosts([0, 25, 50, 900], factor=3, below=50).tolist() == [3, 2, 1, 1]
    assert boosts([0, 9], factor=3, below=0).tolist() == [1, 1]
