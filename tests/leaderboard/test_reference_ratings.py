"""Real crowd votes against ratings on which three independent solvers agree."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from leaderboard.statistics.bradley_terry import fit
from leaderboard.statistics.elo import beginners, elo
from leaderboard.statistics.ranks import ranks
from leaderboard.statistics.types import TIE, A, B, Counts, Floats


@dataclass(frozen=True)
class Reference:
    counts: Counts
    votes: list[tuple[int, int, str]]
    columns: dict[str, Floats]


@pytest.fixture
def reference(shared_data: Path) -> Reference:
    with (shared_data / "battles" / "reference_ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (shared_data / "battles" / "crowd-comparisons.csv").open(encoding="utf-8", newline="") as file:
        position = {row["model"]: index for index, row in enumerate(rows)}
        votes = [(position[vote["left"]], position[vote["right"]], vote["winner"]) for vote in csv.DictReader(file)]
    first, second, winner = zip(*votes, strict=True)
    outcome = [{"left": A, "right": B, "tie": TIE}[word] for word in winner]
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "model"}
    return Reference(Counts.of(len(rows), first, second, outcome), votes, columns)


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


def test_counts_are_those_of_the_file(reference: Reference) -> None:
    number = reference.counts.number
    assert number.wins.sum(axis=1).tolist() == reference.columns["wins"].tolist()
    assert number.wins.sum(axis=0).tolist() == reference.columns["losses"].tolist()
    assert number.ties.sum(axis=1).tolist() == reference.columns["ties"].tolist()
