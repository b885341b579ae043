"""Bradley-Terry ratings: worked examples, symmetries, an independent library, and what cannot be known."""

import evalica
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.statistics.bradley_terry import fit
from leaderboard.statistics.types import BOTH_BAD, POINTS, TIE, A, B, Counts, Floats

Game = tuple[int, int, int]

MODELS = 5
pairs = st.tuples(st.integers(0, MODELS - 1), st.integers(0, MODELS - 1)).filter(lambda pair: pair[0] != pair[1])
games = st.lists(
    st.builds(lambda pair, kind: (*pair, kind), pairs, st.sampled_from([A, B, TIE, BOTH_BAD])), max_size=60
)
# A ring of ties connects everyone with everyone, so that finite ratings exist.
RING: list[Game] = [(index, (index + 1) % MODELS, TIE) for index in range(MODELS)]


def counts(played: list[Game], n: int = MODELS) -> Counts:
    first, second, outcome = zip(*played, strict=True) if played else ((), (), ())
    return Counts.of(n, first, second, outcome)


def test_the_worked_example_of_the_encyclopedia_comes_out() -> None:
    """Wikipedia, Bradley-Terry model, "Worked example": the strengths 0.640, 1.043, 0.660 and 2.270."""
    wins = [[0, 2, 0, 1], [3, 0, 5, 0], [0, 3, 0, 1], [4, 0, 3, 0]]
    played = [(i, j, A) for i in range(4) for j in range(4) for _ in range(wins[i][j])]
    strengths = np.exp((fit(counts(played, 4)).ratings - 1000) / POINTS)
    assert strengths == pytest.approx([0.640, 1.043, 0.660, 2.270], abs=5e-4)


def test_three_wins_to_one_are_odds_of_three_to_one() -> None:
    """Two models: the maximum is the logarithm of the odds, half of it on each side of the mean."""
    fitted = fit(counts([(0, 1, A)] * 3 + [(0, 1, B)], 2))
    assert fitted.ratings == pytest.approx([1000 + POINTS * np.log(3) / 2, 1000 - POINTS * np.log(3) / 2])
    assert fitted.log_likelihood == pytest.approx(3 * np.log(3 / 4) + np.log(1 / 4))


def test_the_interval_of_many_even_games_can_be_computed_by_hand() -> None:
    """1,000 games, half won: the difference has the variance 1 / (n p q), and each model half of that difference."""
    fitted = fit(counts([(0, 1, A), (0, 1, B)] * 500, 2))
    half = 1.959964 * POINTS * np.sqrt(1 / (1000 * 0.25)) / 2
    # The ridge on the Hessian makes it shorter by a few parts in 100,000.
    assert fitted.upper - fitted.ratings == pytest.approx([half, half], rel=1e-4)


@given(games, st.randoms())
@settings(max_examples=50)
def test_the_order_of_the_votes_does_not_matter(played: list[Game], random: object) -> None:
    shuffled = list(played)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert_same(fit(counts(played)), fit(counts(shuffled)))


@given(games)
@settings(max_examples=50)
def test_swapping_the_sides_of_every_vote_changes_nothing(played: list[Game]) -> None:
    swapped = [(b, a, {A: B, B: A}.get(outcome, outcome)) for a, b, outcome in played]
    assert_same(fit(counts(played)), fit(counts(swapped)))


@given(games, st.permutations(range(MODELS)))
@settings(max_examples=50)
def test_the_numbering_of_the_models_does_not_matter(played: list[Game], number: list[int]) -> None:
    ours = fit(counts(RING + played))
    theirs = fit(counts([(number[a], number[b], outcome) for a, b, outcome in RING + played]))
    assert theirs.ratings[number] == pytest.approx(ours.ratings, abs=1e-6)
    assert theirs.upper[number] == pytest.approx(ours.upper, abs=1e-6)


@given(games)
@settings(max_examples=50)
def test_the_ratings_are_those_of_two_solvers_of_another_library(played: list[Game]) -> None:
    """evalica by Hunter's and by Newman's iteration. Newman's ties are a parameter of its own, so none there."""
    counted = [game for game in RING + played if game[2] != BOTH_BAD]
    ours = fit(counts(RING + played)).ratings
    assert ours == pytest.approx(by_evalica(counted, "bradley_terry"), abs=1e-4)
    decided = [game for pair in counted if pair[2] == TIE for game in ((*pair[:2], A), (*pair[:2], B))]
    decided += [game for pair in counted if pair[2] != TIE for game in (pair, pair)]
    # A tie is half a win for each: two of everything, and every tie is one win each.
    assert ours == pytest.approx(by_evalica(decided, "newman"), abs=1e-4)


def by_evalica(played: list[Game], method: str) -> Floats:
    """Their ratings on our scale. Both iterations stop on the change in a step, so the tolerance is far below ours."""
    winners = {A: evalica.Winner.X, B: evalica.Winner.Y, TIE: evalica.Winner.Draw}
    first, second, outcome = zip(*played, strict=True)
    result = getattr(evalica, method)(
        list(first), list(second), [winners[kind] for kind in outcome], tolerance=1e-14, limit=200_000
    )
    logs = np.log(result.scores.sort_index().to_numpy())
    return np.asarray(1000 + POINTS * (logs - logs.mean()))


@given(games)
@settings(max_examples=100)
def test_no_votes_whatever_make_a_false_number(played: list[Game]) -> None:
    fitted = fit(counts(played))
    for figures in (fitted.ratings, fitted.lower, fitted.upper):
        assert np.all(np.isfinite(figures) == fitted.rated)
    assert np.all(fitted.lower[fitted.rated] < fitted.ratings[fitted.rated])
    assert np.all(fitted.upper[fitted.rated] > fitted.ratings[fitted.rated])
    if fitted.rated.any():
        assert fitted.ratings[fitted.rated].mean() == pytest.approx(1000)


def test_a_model_that_only_won_gets_a_finite_rating_and_a_flag() -> None:
    fitted = fit(counts([(0, 1, A)] * 20 + [(1, 2, A), (1, 2, B)], 3))
    assert fitted.is_regularised
    assert fitted.ratings[0] > fitted.ratings[1]
    assert np.all(np.isfinite(fitted.upper))


def test_the_flag_is_on_the_models_that_only_won_or_only_lost() -> None:
    fitted = fit(counts([(0, 1, A)] * 3 + [(1, 2, A), (1, 2, B), (2, 3, A), (0, 4, BOTH_BAD)]))
    assert fitted.one_sided.tolist() == [True, False, False, True, False]


def test_every_model_says_with_whom_it_is_connected() -> None:
    fitted = fit(counts([(4, 5, A), (0, 1, A), (1, 2, B), (7, 6, TIE), (6, 7, A)], 9))
    assert fitted.group.tolist() == [0, 0, 0, -1, 2, 2, 1, 1, -1]
    assert np.array_equal(fitted.rated, fitted.group == 0)


def test_the_covariance_is_that_of_strengths_measured_from_their_mean() -> None:
    """No model is an anchor: the covariance leaves no room for a common shift, and its diagonal makes the intervals."""
    fitted = fit(counts(([*RING, (0, 1, A), (1, 2, A), (2, 3, B), (3, 4, A), (4, 0, A)]) * 30))
    assert abs(fitted.covariance.sum(axis=1)).max() < 1e-6 * fitted.covariance.max()
    half = 1.959964 * np.sqrt(np.diag(fitted.covariance))
    assert fitted.upper - fitted.ratings == pytest.approx(half)


def test_a_fit_that_needs_no_prior_has_none() -> None:
    assert not fit(counts(RING)).is_regularised


def test_models_that_never_met_the_others_have_no_rating() -> None:
    fitted = fit(counts([(0, 1, A), (1, 2, A), (2, 0, A), (3, 4, A)]))
    assert fitted.rated.tolist() == [True, True, True, False, False]
    assert np.isnan(fitted.ratings[3:]).all()


def test_of_two_groups_of_one_size_the_one_with_more_votes_is_rated() -> None:
    fitted = fit(counts([(0, 1, A), (2, 3, A), (2, 3, B)], 4))
    assert fitted.rated.tolist() == [False, False, True, True]


def test_both_bad_is_left_out_unless_it_shall_count_as_a_tie() -> None:
    played = [(0, 1, A)] * 3 + [(0, 1, B)]
    bad = [(0, 1, BOTH_BAD)] * 10
    assert fit(counts(played + bad, 2)).ratings == pytest.approx(fit(counts(played, 2)).ratings)
    as_ties = fit(counts(played + [(0, 1, TIE)] * 10, 2)).ratings
    assert fit(counts(played + bad, 2), both_bad_as_tie=True).ratings == pytest.approx(as_ties)


def test_a_single_tie_leaves_everything_open() -> None:
    """The sandwich of one tie has no width; saying ±0 after one vote would be absurd."""
    fitted = fit(counts([(0, 1, TIE)], 2))
    assert np.all(fitted.upper - fitted.lower > 500)


def test_a_weight_of_two_pulls_like_two_votes_and_widens_the_interval() -> None:
    played = [(0, 1, A)] * 30 + [(0, 1, B)] * 20
    first, second, outcome = zip(*played, strict=True)
    plain = fit(Counts.of(2, first, second, outcome))
    double = fit(Counts.of(2, first, second, outcome, weight=[2.0] * 50))
    assert double.ratings == pytest.approx(plain.ratings)
    # No more is known than before: fifty people voted.
    assert double.upper == pytest.approx(plain.upper, abs=1e-2)


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (([0], [0], [A]), "itself"),
        (([0], [5], [A]), "index"),
        (([0], [1], [7]), "outcome"),
        (([0, 1], [1], [A]), "length"),
    ],
)
def test_impossible_votes_are_refused(columns: tuple[list[int], ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Counts.of(2, *columns)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0, 0.0])
def test_weights_that_are_no_positive_numbers_are_refused(bad: float) -> None:
    for column in ("number", "weight", "square"):
        with pytest.raises(ValueError, match="not a positive number"):
            Counts.of(2, [0, 0], [1, 1], [A, B], **{column: [1.0, bad]})


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """300 simulated arenas of 6 models and 600 votes: 95% of 1,800 intervals, give or take four standard errors."""
    rng = np.random.default_rng(7)
    truth = np.array([-1.0, -0.5, -0.1, 0.2, 0.5, 0.9])
    held = 0
    for _ in range(300):
        first = rng.integers(0, 6, 600)
        second = (first + rng.integers(1, 6, 600)) % 6
        chance = 1 / (1 + np.exp(truth[second] - truth[first]))
        fitted = fit(Counts.of(6, first, second, np.where(rng.random(600) < chance, A, B)))
        points = 1000 + POINTS * (truth - truth.mean())
        held += int(((fitted.lower < points) & (points < fitted.upper)).sum())
    assert 0.93 < held / 1800 < 0.97


def assert_same(one: object, other: object) -> None:
    for name in ("ratings", "lower", "upper"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-6, nan_ok=True)
