"""The crowd's votes with ratings on which three independent solvers agree."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leaderboard.statistics.ballots import Ballots
from leaderboard.statistics.types import TIE, A, B, Counts, Floats


@dataclass(frozen=True)
class Reference:
    """8,931 votes of 124 people on 59 models; `columns` are figures of other programs, by model."""

    counts: Counts
    by_voter: Ballots
    votes: list[tuple[int, int, str]]
    columns: dict[str, Floats]


def read(folder: Path) -> Reference:
    with (folder / "battles" / "reference_ratings.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    position = {row["model"]: index for index, row in enumerate(rows)}
    with (folder / "battles" / "crowd-comparisons.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    votes = [(position[line["left"]], position[line["right"]], line["winner"]) for line in lines]
    first, second, winner = zip(*votes, strict=True)
    outcome = [{"left": A, "right": B, "tie": TIE}[word] for word in winner]
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "model"}
    voters = [int(line["worker"]) for line in lines]
    by_voter = Ballots.of(len(rows), voters, first, second, outcome)
    return Reference(Counts.of(len(rows), first, second, outcome), by_voter, votes, columns)
