"""Style control and the effect of position: known truths are found, symmetries hold, and little data stays open."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.statistics import bradley_terry, covariates
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.position import position_effect
from leaderboard.statistics.style_control import FEATURES, differences, style_control
from leaderboard.statistics.types import BOTH_BAD, MEAN, POINTS, TIE, A, B, Floats, Integers

TRUTH = np.array([-0.6, -0.1, 0.2, 0.5])
POINTS_OF_TRUTH = MEAN + POINTS * (TRUTH - TRUTH.mean())


def drawn(votes: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    first = rng.integers(0, 4, votes)
    return first, (first + rng.integers(1, 4, votes)) % 4


def votes_with(effect: Floats, first: Integers, second: Integers, rng: np.random.Generator) -> Ballots:
    chance = 1 / (1 + np.exp(TRUTH[second] - TRUTH[first] - effect))
    return Ballots.of(4, np.arange(len(first)), first, second, np.where(rng.random(len(first)) < chance, A, B))


def test_a_model_that_wins_by_length_alone_loses_its_lead_at_equal_style() -> None:
    """Two equal models; one writes twice as much, and people like that."""
    rng = np.random.default_rng(2)
    lengths = np.stack((rng.uniform(900, 1100, 4000), rng.uniform(300, 700, 4000)), axis=1)
    turned = rng.random(4000) < 0.5
    a, b = np.where(turned[:, None], lengths[:, ::-1], lengths).T
    liked = 1 / (1 + np.exp(-3 * (a - b) / (a + b)))
    outcome = np.where(rng.random(4000) < liked, A, B)
    ballots = Ballots.of(2, np.arange(4000), turned, 1 - turned, outcome)
    plain = bradley_terry.fit(ballots.counts())
    controlled = style_control(ballots, a[:, None], b[:, None], features=("length",)).fit
    assert plain.lower[0] > 1050
    assert controlled.lower[0] < 1000 < controlled.upper[0]
    assert controlled.coefficients_lower[0] > 0


def test_intervals_of_ratings_and_coefficients_hold_the_truth_as_often_as_they_say() -> None:
    """200 simulated arenas: 95% of 800 ratings and of 400 coefficients, give or take four standard errors."""
    rng = np.random.default_rng(6)
    effects = np.array([0.5, -0.2])
    ratings = coefficients = 0
    for _ in range(200):
        first, second = drawn(500, rng)
        table = rng.normal(size=(500, 2))
        fitted = covariates.fit(votes_with(table @ effects, first, second, rng), table)
        ratings += int(((fitted.lower < POINTS_OF_TRUTH) & (fitted.upper > POINTS_OF_TRUTH)).sum())
        coefficients += int(((fitted.coefficients_lower < effects) & (effects < fitted.coefficients_upper)).sum())
    assert 0.92 < ratings / 800 < 0.98
    assert 0.90 < coefficients / 400 < 0.99


def test_the_advantage_of_the_first_side_is_found() -> None:
    rng = np.random.default_rng(3)
    first, second = drawn(6000, rng)
    effect = position_effect(votes_with(np.full(6000, 0.3), first, second, rng))
    assert effect.lower < 1 / (1 + np.exp(-0.3)) < effect.upper
    assert effect.is_certain
    fair = position_effect(votes_with(np.zeros(6000), first, second, rng))
    assert not fair.is_certain


def test_two_equal_models_show_the_effect_as_their_share() -> None:
    """Both orders as often, and the first side won 60 of 100 each time."""
    columns = np.array([(0, 1, A), (0, 1, B), (1, 0, A), (1, 0, B)]).T
    effect = position_effect(Ballots.of(2, range(4), *columns), number=[600, 400, 600, 400])
    # The imagined even comparison moves it a little.
    assert effect.rate == pytest.approx(0.6, abs=2e-4)
    half = 1.959964 * np.sqrt(0.24 / 2000)
    assert effect.upper - effect.rate == pytest.approx(half, rel=0.02)
    assert effect.fit.ratings == pytest.approx([1000, 1000])


rows = st.tuples(
    st.integers(0, 3), st.integers(0, 3), st.sampled_from([A, B, TIE, BOTH_BAD]), st.floats(-2, 2), st.integers(1, 3)
).filter(lambda row: row[0] != row[1])


@given(st.lists(rows, max_size=40))
@settings(max_examples=50)
def test_swapping_sides_with_their_covariates_changes_nothing(
    played: list[tuple[int, int, int, float, int]],
) -> None:
    first, second, outcome, covariate, number = zip(*played, strict=True) if played else ((), (), (), (), ())
    table = np.array(covariate).reshape(-1, 1)
    one = covariates.fit(Ballots.of(4, range(len(first)), first, second, outcome), table, number=number)
    turned = [{A: B, B: A}.get(kind, kind) for kind in outcome]
    other = covariates.fit(Ballots.of(4, range(len(first)), second, first, turned), -table, number=number)
    for name in ("ratings", "lower", "upper", "coefficients", "coefficients_lower"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-5, nan_ok=True)
    assert np.all(np.isfinite(one.upper) == one.rated)


def test_a_number_stands_for_as_many_equal_rows() -> None:
    rng = np.random.default_rng(1)
    first, second = drawn(60, rng)
    table = rng.normal(size=(60, 1))
    ballots = votes_with(table[:, 0], first, second, rng)
    many = Ballots.of(4, np.arange(180), *(np.tile(x, 3) for x in (first, second, ballots.outcome)))
    grouped, single = covariates.fit(ballots, table, number=[3] * 60), covariates.fit(many, np.tile(table, (3, 1)))
    assert grouped.upper == pytest.approx(single.upper)
    assert grouped.coefficients_upper == pytest.approx(single.coefficients_upper)


def test_without_covariates_it_is_bradley_terry_clustered_or_not() -> None:
    rng = np.random.default_rng(1)
    first, second = drawn(400, rng)
    single = votes_with(np.zeros(400), first, second, rng)
    people = Ballots.of(4, np.arange(400) % 20, first, second, single.outcome)
    for ballots in (single, people):
        ours = covariates.fit(ballots, np.empty((400, 0)))
        plain = bradley_terry.fit(ballots.counts(), ballots=ballots)
        assert ours.ratings == pytest.approx(plain.ratings)
        assert ours.upper - ours.lower == pytest.approx(plain.upper - plain.lower, rel=1e-3)


def test_a_feature_that_foretells_every_vote_gets_a_finite_coefficient() -> None:
    ballots = Ballots.of(2, range(20), [0, 1] * 10, [1, 0] * 10, [A, B, B, A] * 5)
    table = np.where(ballots.outcome == A, 1.0, -1.0)[:, None]
    fitted = covariates.fit(ballots, table)
    assert 1 < fitted.coefficients[0] < 10
    assert np.isfinite(fitted.coefficients_upper).all()


def test_a_feature_in_which_nothing_differs_is_neither_0_for_sure_nor_an_error() -> None:
    rng = np.random.default_rng(1)
    first, second = drawn(300, rng)
    style = np.ones((300, 4))
    fitted = style_control(votes_with(np.zeros(300), first, second, rng), style, style).fit
    assert fitted.coefficients == pytest.approx(np.zeros(4))
    assert (fitted.coefficients_upper > 1).all()


def test_no_votes_have_no_effect_and_no_rating() -> None:
    empty = Ballots.of(3, [], [], [], [])
    assert np.isnan(position_effect(empty).rate)
    assert not position_effect(empty).is_certain
    assert np.isnan(style_control(empty, np.empty((0, 4)), np.empty((0, 4))).fit.ratings).all()


def test_the_difference_in_style_is_relative_and_nothing_against_nothing_is_none() -> None:
    table, scale = differences([[300, 0], [100, 0]], [[100, 0], [300, 2]])
    assert scale == pytest.approx([0.5, np.sqrt(0.5)])
    assert table[:, 0] == pytest.approx([1, -1])
    assert table[:, 1] == pytest.approx([0, -np.sqrt(2)])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_impossible_styles_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="negative or not finite"):
        differences([[bad]], [[1.0]])


def test_missing_columns_are_refused() -> None:
    ballots = Ballots.of(2, [0], [0], [1], [A])
    with pytest.raises(ValueError, match="each feature"):
        style_control(ballots, [[1.0]], [[1.0]], features=FEATURES)
    with pytest.raises(ValueError, match="length"):
        covariates.fit(ballots, np.ones((2, 1)))
    with pytest.raises(ValueError, match="finite"):
        covariates.fit(ballots, [[np.nan]])
