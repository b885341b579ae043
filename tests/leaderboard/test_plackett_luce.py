"""Plackett-Luce: pairs, worked examples, a direct maximum, ties, choices of the best, and what cannot be known."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from leaderboard.statistics import bradley_terry
from leaderboard.statistics.plackett_luce import PlackettLuce, fit
from leaderboard.statistics.rankings import MAX_TIED, UNPLACED, Rankings
from leaderboard.statistics.types import MEAN, POINTS, TIE, A, B, Counts, Floats
from tests.leaderboard.reference import read

Places = dict[int, int]


def rankings(*all_places: Places, n: int = 4, **columns: object) -> Rankings:
    rows = [(number, model, place) for number, places in enumerate(all_places) for model, place in places.items()]
    ranking, model, place = zip(*rows, strict=True) if rows else ((), (), ())
    return Rankings.of(n, ranking, model, place, **columns)  # type: ignore[arg-type]


def orders(*all_orders: str) -> list[Places]:
    """Models a, b, c, d, the best first: "bca" is b before c before a."""
    return [{"abcd".index(letter): place for place, letter in enumerate(order)} for order in all_orders]


pairs = st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([A, B, TIE])).filter(lambda it: it[0] != it[1])


@given(st.lists(pairs, max_size=50))
@settings(max_examples=40)
def test_for_rankings_of_two_it_is_bradley_terry(played: list[tuple[int, int, int]]) -> None:
    places = {A: (0, 1), B: (1, 0), TIE: (0, 0)}
    given = [{a: places[outcome][0], b: places[outcome][1]} for a, b, outcome in played]
    ours = fit(rankings(*given, n=5))
    first, second, outcome = zip(*played, strict=True) if played else ((), (), ())
    theirs = bradley_terry.fit(Counts.of(5, first, second, outcome))
    assert ours.ratings == pytest.approx(theirs.ratings, abs=1e-6, nan_ok=True)
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, abs=1e-8)
    assert np.array_equal(ours.group, theirs.group)
    assert np.array_equal(ours.one_sided, theirs.one_sided)
    # The other one's ridge shortens its intervals by a few parts in a thousand.
    assert ours.upper == pytest.approx(theirs.upper, rel=0.01, nan_ok=True)


def test_the_crowds_pairs_give_the_reference_ratings(shared_data: Path) -> None:
    reference = read(shared_data)
    tally = reference.counts.number
    rows, number = [], []
    for i, j in zip(*np.nonzero(tally.wins + np.triu(tally.ties)), strict=True):
        for places, times in (((0, 1), tally.wins[i, j]), ((0, 0), tally.ties[i, j] * (i < j))):
            if times:
                rows += [(len(number), i, places[0]), (len(number), j, places[1])]
                number.append(times)
    result = fit(Rankings.of(reference.counts.n, *zip(*rows, strict=True), number=number))
    assert result.ratings == pytest.approx(reference.columns["mle_elo400_mean1000"], abs=1e-3)
    assert result.lower == pytest.approx(reference.columns["ar_lower95"], abs=0.5)
    assert result.rankings == 8931


def test_first_places_alone_give_their_shares() -> None:
    """Of three, a was chosen 6 times, b 3 and c once: strengths as 6 to 3 to 1."""
    choices = [({0: 0, 1: UNPLACED, 2: UNPLACED}, 6), ({1: 0, 0: UNPLACED, 2: UNPLACED}, 3)]
    choices.append(({2: 0, 0: UNPLACED, 1: UNPLACED}, 1))
    given, number = zip(*choices, strict=True)
    result = fit(rankings(*given, n=3, number=number))
    strengths = np.exp((result.ratings - MEAN) / POINTS)
    assert strengths / strengths.sum() == pytest.approx([0.6, 0.3, 0.1])
    assert not result.is_regularised


def test_the_maximum_is_that_of_a_direct_search() -> None:
    given = orders("abc", "bca", "cab", "dacb", "bd", "acbd", "dbca", "cda")

    def loss(tail: Floats) -> float:
        s = np.append(tail, 0.0)
        total = 0.0
        for places in given:
            order = sorted(places, key=places.__getitem__)
            total -= sum(s[one] - np.log(np.exp(s[order[at:]]).sum()) for at, one in enumerate(order))
        return float(total)

    found = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    s = np.append(found.x, 0.0)
    result = fit(rankings(*given))
    assert result.ratings == pytest.approx(MEAN + POINTS * (s - s.mean()), abs=0.01)
    assert result.log_likelihood == pytest.approx(-found.fun)


def test_a_tie_is_every_order_of_the_tied_in_equal_parts() -> None:
    tied = [{0: 0, 1: 1, 2: 1, 3: 1}, *orders("dcba", "bcad")]
    spread = [places for last in permutations("bcd") for places in orders("a" + "".join(last))] + orders("dcba", "bcad")
    apart = fit(rankings(*spread, weight=[1 / 6] * 6 + [1, 1]))
    assert fit(rankings(*tied)).ratings == pytest.approx(apart.ratings)
    assert fit(rankings(*tied)).log_likelihood == pytest.approx(apart.log_likelihood)


def test_a_number_stands_for_as_many_equal_rankings() -> None:
    given = orders("abcd", "dcba", "bdac")
    many = fit(rankings(*given, *given, *given))
    assert_same(fit(rankings(*given, number=[3, 3, 3])), many)


def test_the_order_of_rows_and_the_names_of_rankings_do_not_matter() -> None:
    given = orders("abcd", "dcba", "bdac", "ca")
    rows = [(99 - number, model, place * 5) for number, it in enumerate(given) for model, place in it.items()]
    assert_same(fit(rankings(*given)), fit(Rankings.of(4, *zip(*rows[::-1], strict=True))))


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """200 simulated arenas of 100 rankings of five: 95% of 1,000 intervals, give or take four standard errors."""
    rng = np.random.default_rng(8)
    truth = np.array([-0.6, -0.2, 0.0, 0.3, 0.5])
    points = MEAN + POINTS * (truth - truth.mean())
    held = 0
    for _ in range(200):
        order = np.argsort(-(truth + rng.gumbel(size=(100, 5))), axis=1)
        result = fit(Rankings.of(5, np.repeat(np.arange(100), 5), order.ravel(), np.tile(np.arange(5), 100)))
        held += int(((result.lower < points) & (points < result.upper)).sum())
    assert 0.92 < held / 1000 < 0.98


def test_rankings_of_one_person_make_wider_intervals_where_they_say_the_same() -> None:
    given = orders("abcd", "dcba", "bdac", "cadb") * 10
    alone = fit(rankings(*given))
    together = fit(rankings(*given, cluster=[number % 4 for number in range(40)]))
    assert together.ratings == pytest.approx(alone.ratings)
    # Ten times the same from each: the scores are ten times as large, and a tenth as many.
    widths = (together.upper - together.lower) / (alone.upper - alone.lower)
    assert widths == pytest.approx(np.full(4, np.sqrt(10)))


def test_a_model_that_always_came_first_gets_a_finite_rating_and_a_flag() -> None:
    result = fit(rankings(*orders("abc", "acb", "abc")))
    assert result.is_regularised
    assert result.one_sided.tolist() == [True, False, False, False]
    assert np.isfinite(result.upper[:3]).all()
    assert result.group.tolist() == [0, 0, 0, -1]
    assert np.isnan(result.ratings[3])


def test_groups_that_never_met_have_no_common_scale() -> None:
    result = fit(rankings({0: 0, 1: 1}, {1: 0, 0: 1}, {2: 0, 3: 1}))
    assert result.rated.tolist() == [True, True, False, False]
    assert result.group.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("given", [(), ({0: 0},), ({0: UNPLACED, 1: UNPLACED},)])
def test_rankings_that_say_nothing_rate_nobody(given: tuple[Places, ...]) -> None:
    assert np.isnan(fit(rankings(*given)).ratings).all()


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (([0, 0], [0, 9], [0, 1]), "index"),
        (([0, 0], [1, 1], [0, 1]), "twice"),
        (([0, 0], [0, 1], [0, -2]), "negative"),
        (([0], [0, 1], [0, 1]), "length"),
    ],
)
def test_impossible_rankings_are_refused(columns: tuple[list[int], ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Rankings.of(2, *columns)


def test_too_many_tied_are_refused_before_they_cost_anything() -> None:
    size = MAX_TIED + 1
    with pytest.raises(ValueError, match="tied"):
        Rankings.of(size, [0] * size, range(size), [0] * size)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0, -1.0])
def test_weights_that_are_no_positive_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        rankings(*orders("ab"), weight=[bad])


def assert_same(one: PlackettLuce, other: PlackettLuce) -> None:
    for name in ("ratings", "lower", "upper", "log_likelihood"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-6, nan_ok=True)
