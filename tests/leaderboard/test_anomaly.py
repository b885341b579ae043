"""Voters who differ from everyone, and votes that come in bursts."""

from pathlib import Path

import numpy as np
import pytest

from leaderboard.statistics.anomaly import bursts, voters
from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.types import BOTH_BAD, TIE, A, B
from tests.leaderboard.reference import read

TRUTH = np.array([-1.0, -0.4, 0.2, 0.5, 0.9])


def arena(people: int, each: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    voter = np.repeat(np.arange(people), each)
    first = rng.integers(0, 5, len(voter))
    second = (first + rng.integers(1, 5, len(voter))) % 5
    chance = 1 / (1 + np.exp(TRUTH[second] - TRUTH[first]))
    return voter, first, second, np.where(rng.random(len(voter)) < chance, A, B)


def test_honest_voters_are_seldom_called_odd() -> None:
    """The chances of honest people are spread evenly: 5% below 0.05, whether they voted 12 times or 120 times."""
    rng = np.random.default_rng(1)
    for people, each in ((600, 12), (300, 120)):
        scores = voters(Ballots.of(5, *arena(people, each, rng)), seed=1)
        assert (scores.p < 0.05).mean() < 0.05 + 4 * np.sqrt(0.05 * 0.95 / people)
        assert (scores.p < 0.5).mean() == pytest.approx(0.5, abs=0.12)
        assert (scores.q < 0.01).sum() <= 1


@pytest.mark.parametrize("each", [30, 120])
def test_a_voter_who_says_the_opposite_stands_out(each: int) -> None:
    rng = np.random.default_rng(2)
    voter, first, second, outcome = arena(60, each, rng)
    outcome[voter == 7] = np.where(TRUTH[first] > TRUTH[second], B, A)[voter == 7]
    scores = voters(Ballots.of(5, voter, first, second, outcome), seed=1)
    assert scores.p.argmin() == 7
    assert scores.q[7] < 0.05
    assert scores.z[7] < -3
    assert (scores.q < 0.01).sum() <= 2


def test_a_voter_with_many_votes_does_not_make_their_own_norm() -> None:
    """A third of all votes are one person's, all the wrong way round."""
    rng = np.random.default_rng(3)
    voter, first, second, outcome = arena(61, 20, rng)
    voter = np.where(voter > 40, 40, voter)
    outcome[voter == 40] = np.where(TRUTH[first] > TRUTH[second], B, A)[voter == 40]
    scores = voters(Ballots.of(5, voter, first, second, outcome), seed=1)
    assert scores.p.argmin() == 40
    assert scores.q[40] < 0.001


def test_the_crowd_is_scored_and_few_stand_out(shared_data: Path) -> None:
    reference = read(shared_data)
    scores = voters(reference.by_voter, seed=1)
    assert len(scores.p) == 124
    assert np.isfinite(scores.z).all()
    assert 0 < (scores.q < 0.05).sum() < 40


def test_ties_and_both_bad_say_nothing_about_a_voter() -> None:
    scores = voters(Ballots.of(2, [0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [TIE, BOTH_BAD, A, B]), seed=1)
    assert scores.decided.tolist() == [0, 2]
    assert scores.p[0] == 1


def test_a_lonely_voter_has_nobody_to_differ_from() -> None:
    scores = voters(Ballots.of(2, [5] * 20, [0] * 20, [1] * 20, [A] * 20), seed=1)
    assert scores.decided.tolist() == [0]
    assert scores.p.tolist() == [1.0]


def test_no_votes_have_no_voters() -> None:
    assert len(voters(Ballots.of(3, [], [], [], []), seed=1).p) == 0


def test_a_burst_is_found_with_its_span() -> None:
    rng = np.random.default_rng(4)
    even = rng.uniform(0, 100_000, 200)
    found = bursts(np.concatenate((even, 50_000 + np.arange(20.0))), window=60)
    assert len(found) == 1
    assert found[0].start <= 50_000 <= found[0].end
    assert found[0].votes >= 20
    assert found[0].expected < 2


def test_an_even_flow_has_no_bursts() -> None:
    rng = np.random.default_rng(5)
    assert sum(len(bursts(rng.uniform(0, 10_000, 300), window=60)) for _ in range(50)) <= 1


def test_a_busy_hour_of_everyone_is_not_a_models_burst() -> None:
    """Everyone came at once, and a fifth of the votes were about this model, as always."""
    rng = np.random.default_rng(6)
    everyone = np.concatenate((rng.uniform(0, 100_000, 1000), rng.uniform(40_000, 40_600, 1000)))
    mine = everyone[rng.random(2000) < 0.2]
    assert bursts(mine, window=300)
    assert not bursts(mine, window=300, background=everyone)


@pytest.mark.parametrize("times", [[], [5.0], [5.0, 5.0]])
def test_too_few_votes_make_no_burst(times: list[float]) -> None:
    assert bursts(times, window=60) == []


@pytest.mark.parametrize(("times", "window"), [([1.0, np.nan], 60.0), ([1.0, 2.0], 0.0), ([1.0, 2.0], np.inf)])
def test_impossible_times_and_windows_are_refused(times: list[float], window: float) -> None:
    with pytest.raises(ValueError, match="not a"):
        bursts(times, window=window)
