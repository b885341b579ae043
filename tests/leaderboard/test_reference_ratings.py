"""Real crowd votes against ratings on which three independent solvers agree."""

from pathlib import Path

import pytest

from leaderboard.statistics.bradley_terry import fit
from leaderboard.statistics.elo import beginners, elo
from leaderboard.statistics.ranks import ranks
from leaderboard.statistics.win_rate import average_win_rate
from tests.leaderboard.reference import Reference, read


@pytest.fixture
def reference(shared_data: Path) -> Reference:
    return read(shared_data)


def test_ratings_and_likelihood_are_those_of_three_other_solvers(reference: Reference) -> None:
    fitted = fit(reference.counts)
    assert fitted.ratings == pytest.approx(reference.columns["mle_elo400_mean1000"], abs=1e-3)
    assert fitted.log_likelihood == pytest.approx(-5743.381724, abs=1e-6)
    assert fitted.comparisons == len(reference.votes) == 8931


def test_sandwich_intervals_are_those_of_the_arena(reference: Reference) -> None:
    fitted = fit(reference.counts)
    assert fitted.lower == pytest.approx(reference.columns["ar_lower95"], abs=0.05)
    assert fitted.upper == pytest.approx(reference.columns["ar_upper95"], abs=0.05)


def test_ranks_and_best_ranks_are_those_of_the_arena(reference: Reference) -> None:
    fitted = fit(reference.counts)
    places = ranks(fitted.ratings, fitted.lower, fitted.upper)
    assert places.rank.tolist() == reference.columns["rank_bt"].tolist()
    assert places.lower.tolist() == reference.columns["rank_ub_ar_ci"].tolist()
    assert (places.lower <= places.rank).all()
    assert (places.rank <= places.upper).all()


def test_online_elo_is_that_of_evalica_in_the_order_of_the_file(reference: Reference) -> None:
    scores = {"left": 1.0, "right": 0.0, "tie": 0.5}
    games = ((left, right, scores[winner], 1.0) for left, right, winner in reference.votes)
    played = elo(games, beginners(reference.counts.n))
    assert played.games == 8931
    assert list(played.ratings) == pytest.approx(reference.columns["evalica_elo_k4_in_file_order"], abs=1e-9)


def test_average_win_rates_are_those_of_evalica(reference: Reference) -> None:
    rates = average_win_rate(reference.counts)
    assert rates.rate == pytest.approx(reference.columns["evalica_avg_win_rate"], abs=1e-12)


def test_counts_are_those_of_the_file(reference: Reference) -> None:
    number = reference.counts.number
    assert number.wins.sum(axis=1).tolist() == reference.columns["wins"].tolist()
    assert number.wins.sum(axis=0).tolist() == reference.columns["losses"].tolist()
    assert number.ties.sum(axis=1).tolist() == reference.columns["ties"].tolist()
