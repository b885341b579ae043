"""The bootstrap: the draws, the fits, whole ballots, and data that hold little."""

from dataclasses import replace
from pathlib import Path

import evalica
import numpy as np
import pytest

from leaderboard.statistics import bradley_terry
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.bootstrap import bootstrap
from leaderboard.statistics.pairs import Pairs
from leaderboard.statistics.resampling import kinds_of, multinomial
from leaderboard.statistics.types import MEAN, POINTS, TIE, A, B, Counts, Integers
from tests.leaderboard.reference import read

TRUTH = np.array([-1.0, -0.5, -0.1, 0.2, 0.5, 0.9])


def arena(votes: int, rng: np.random.Generator) -> tuple[Integers, Integers, Integers]:
    first = rng.integers(0, 6, votes)
    second = (first + rng.integers(1, 6, votes)) % 6
    chance = 1 / (1 + np.exp(TRUTH[second] - TRUTH[first]))
    outcome = np.where(rng.random(votes) < chance, A, B)
    outcome[rng.random(votes) < 0.1] = TIE
    return first, second, outcome


def test_bootstrap_and_sandwich_agree_on_the_crowds_votes(shared_data: Path) -> None:
    counts = read(shared_data).counts
    fitted = bradley_terry.fit(counts)
    drawn = bootstrap(counts, fitted, seed=1)
    ratio = (drawn.upper - drawn.lower) / (fitted.upper - fitted.lower)
    assert abs(ratio - 1).mean() < 0.15
    assert drawn.regularised == 0


def test_bootstrap_and_sandwich_agree_where_a_persons_votes_belong_together(shared_data: Path) -> None:
    reference = read(shared_data)
    fitted = bradley_terry.fit(reference.counts, ballots=reference.by_voter)
    drawn = bootstrap(reference.counts, fitted, seed=1, ballots=reference.by_voter)
    ratio = (drawn.upper - drawn.lower) / (fitted.upper - fitted.lower)
    assert abs(ratio - 1).mean() < 0.15
    alone = bradley_terry.fit(reference.counts)
    assert (fitted.upper - fitted.lower).mean() > 1.1 * (alone.upper - alone.lower).mean()


def test_the_intervals_are_those_of_another_librarys_percentile_bootstrap() -> None:
    first, second, outcome = arena(400, np.random.default_rng(3))
    counts = Counts.of(6, first, second, outcome)
    ours = bootstrap(counts, bradley_terry.fit(counts), seed=1, rounds=2000)
    kinds = {A: evalica.Winner.X, B: evalica.Winner.Y, TIE: evalica.Winner.Draw}
    theirs = evalica.bootstrap(
        evalica.bradley_terry,
        first.tolist(),
        second.tolist(),
        [kinds[kind] for kind in outcome.tolist()],
        n_resamples=1000,
        bootstrap_method="percentile",
        random_state=1,
    )
    logs = np.log(theirs.distribution[list(range(6))].to_numpy())
    points = 1000 + POINTS * (logs - logs.mean(axis=1, keepdims=True))
    low, high = np.percentile(points, (2.5, 97.5), axis=0)
    # Percentiles of 1,000 rounds are known to some 5% of the interval.
    width = (high - low).mean()
    assert ours.lower == pytest.approx(low, abs=0.1 * width)
    assert ours.upper == pytest.approx(high, abs=0.1 * width)


@pytest.mark.parametrize("votes", [40, 200, 3000])
def test_the_shared_factor_finds_what_newtons_method_finds_alone(votes: int) -> None:
    counts = Counts.of(6, *arena(votes, np.random.default_rng(5)))
    fitted = bradley_terry.fit(counts)
    drawn = bootstrap(counts, fitted, seed=9, rounds=50)
    pairs = Pairs.of(counts.weight, counts.square)
    won, lost = kinds_of(pairs, counts.number, counts.weight, None).draw(50, np.random.default_rng(9))
    for round_ in range(50):
        resample = replace(pairs, won=won[:, round_], lost=lost[:, round_])
        needs_prior = not bradley_terry.connectivity.pairs_determine(resample)
        prior = bradley_terry.PRIOR_TIES if needs_prior else 0.0
        strengths = bradley_terry.maximise(resample, prior)[0].strengths
        alone = MEAN + POINTS * (strengths - strengths.mean())
        assert drawn.samples[round_] == pytest.approx(alone, abs=1e-3)


@pytest.mark.parametrize("scale", [1, 1000])
def test_draws_have_the_total_the_means_and_the_variances_of_a_multinomial(scale: int) -> None:
    number = np.array([1, 2, 5, 12]) * scale
    drawn = multinomial(number, 4000, np.random.default_rng(2))
    total = int(number.sum())
    assert (drawn.sum(axis=0) == total).all()
    share = number / total
    deviation = np.sqrt(total * share * (1 - share))
    assert np.all(abs(drawn.mean(axis=1) - number) < 4 * deviation / np.sqrt(4000))
    assert drawn.std(axis=1) == pytest.approx(deviation, rel=0.06)
    together = np.corrcoef(drawn)[2, 3]
    assert together == pytest.approx(-np.sqrt(share[2] * share[3] / ((1 - share[2]) * (1 - share[3]))), abs=0.06)


def test_the_same_seed_gives_the_same_and_another_one_another() -> None:
    counts = Counts.of(6, *arena(300, np.random.default_rng(1)))
    fitted = bradley_terry.fit(counts)
    one, same, other = (bootstrap(counts, fitted, seed=seed, rounds=50).samples for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_the_order_and_the_sides_of_the_votes_do_not_matter() -> None:
    first, second, outcome = arena(300, np.random.default_rng(1))
    swap = np.array([B, A, TIE])
    counts = Counts.of(6, first, second, outcome)
    turned = Counts.of(6, second[::-1], first[::-1], swap[outcome][::-1])
    one, other = (bootstrap(each, bradley_terry.fit(each), seed=1, rounds=50).samples for each in (counts, turned))
    assert one == pytest.approx(other, abs=1e-6)


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """150 simulated arenas: 95% of 900 intervals, give or take four standard errors."""
    rng = np.random.default_rng(11)
    held = 0
    for seed in range(150):
        counts = Counts.of(6, *arena(600, rng))
        drawn = bootstrap(counts, bradley_terry.fit(counts), seed=seed, rounds=300)
        # A tenth are ties, which draw the ratings together by as much.
        fair = bradley_terry.fit(Counts.of(6, *EXPECTED[:3], weight=EXPECTED[3]))
        held += int(((drawn.lower < fair.ratings) & (fair.ratings < drawn.upper)).sum())
    assert 0.92 < held / 900 < 0.98


def expected() -> tuple[list[int], list[int], list[int], list[float]]:
    """The votes of an endless arena: every pair and outcome with its share."""
    rows = []
    for i in range(6):
        for j in range(i + 1, 6):
            chance = 1 / (1 + np.exp(TRUTH[j] - TRUTH[i]))
            rows += [(i, j, A, 0.9 * chance), (i, j, B, 0.9 * (1 - chance)), (i, j, TIE, 0.1)]
    return tuple(zip(*rows, strict=True))  # type: ignore[return-value]


EXPECTED = expected()


def test_ranks_come_with_their_shares() -> None:
    counts = Counts.of(6, *arena(400, np.random.default_rng(1)))
    drawn = bootstrap(counts, bradley_terry.fit(counts), seed=1, rounds=200)
    assert drawn.rank_shares.sum(axis=1) == pytest.approx(np.ones(6))
    assert drawn.rank_shares.sum(axis=0) == pytest.approx(np.ones(6))
    assert (drawn.rank_lower <= drawn.rank_upper).all()
    assert drawn.rank_lower[5] == 1


def test_a_ballot_that_says_everything_twice_says_it_once() -> None:
    first, second, outcome = arena(300, np.random.default_rng(4))
    once = Counts.of(6, first, second, outcome)
    twice = [np.repeat(column, 2) for column in (first, second, outcome)]
    doubled = Ballots.of(6, np.repeat(np.arange(300), 2), *twice)
    plain = bootstrap(once, bradley_terry.fit(once), seed=1)
    fitted = bradley_terry.fit(doubled.counts(), ballots=doubled)
    drawn = bootstrap(doubled.counts(), fitted, seed=1, ballots=doubled)
    assert drawn.error == pytest.approx(plain.error, rel=0.1)
    naive = bootstrap(doubled.counts(), fitted, seed=1)
    assert naive.error == pytest.approx(plain.error / np.sqrt(2), rel=0.1)


def test_ballots_of_one_pair_may_be_named_or_left_out() -> None:
    first, second, outcome = arena(300, np.random.default_rng(4))
    counts = Counts.of(6, first, second, outcome)
    fitted = bradley_terry.fit(counts)
    single = Ballots.of(6, np.arange(300), first, second, outcome)
    named = bootstrap(counts, fitted, seed=1, ballots=single)
    assert named.error == pytest.approx(bootstrap(counts, fitted, seed=1).error, rel=0.1)


def test_few_votes_give_wide_intervals_and_not_infinite_ones() -> None:
    counts = Counts.of(3, [0, 1, 0, 2], [1, 2, 2, 0], [A, A, A, A])
    drawn = bootstrap(counts, bradley_terry.fit(counts), seed=1, rounds=200)
    assert np.isfinite(drawn.samples).all()
    assert drawn.regularised > 50


def test_models_without_a_rating_get_none_in_any_round() -> None:
    counts = Counts.of(5, [0, 1, 2, 3], [1, 2, 0, 4], [A, A, A, TIE])
    drawn = bootstrap(counts, bradley_terry.fit(counts), seed=1, rounds=20)
    assert np.isnan(drawn.lower[3:]).all()
    assert drawn.rank_lower.tolist()[3:] == [0, 0]
    assert drawn.rank_shares[3:].sum() == 0


def test_no_vote_gives_no_interval() -> None:
    counts = Counts.of(2, [], [], [])
    drawn = bootstrap(counts, bradley_terry.fit(counts), seed=1, rounds=20)
    assert np.isnan(drawn.upper).all()


def test_one_vote_can_be_drawn_again_and_stays_open() -> None:
    counts = Counts.of(2, [0], [1], [A])
    drawn = bootstrap(counts, bradley_terry.fit(counts), seed=1, rounds=20)
    assert np.all(drawn.upper - drawn.lower > 500)
    assert drawn.regularised == 20
