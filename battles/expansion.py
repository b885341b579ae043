"""What a judgement on several answers says of each pair of them. Pure: labels in, outcomes out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

Outcome = Literal["a", "b", "tie", "both_bad"]
Ranking = Sequence[Sequence[str]]


class RankingInvalid(ValueError):
    """Says in a sentence what is wrong with a ranking."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The outcome between two labels; `first` stood before `second`, and is a of the outcome."""

    first: str
    second: str
    outcome: Outcome


def pairs_of(*, choice: str, winner: str, ranking: Ranking, answered: Sequence[str]) -> list[Pair]:
    """The pairs that follow from a preference, among the labels that have an answer, in their order.

    A winner beats every other; of a ranking every pair of those who are in it counts, and nothing is said of the rest;
    a tie or both bad is one between all. Source: the model arena of Potato, whose two rules these are.
    """
    if choice == "ranking":
        places = {label: place for place, labels in enumerate(ranking) for label in labels if label in answered}
    elif choice == "winner":
        places = {label: 0 if label == winner else 1 for label in answered}
    else:
        places = dict.fromkeys(answered, 0)
    ordered = [label for label in answered if label in places]
    return [
        Pair(first, second, _outcome(choice, places[first], places[second]))
        for first, second in combinations(ordered, 2)
        if choice != "winner" or winner in (first, second)
    ]


def _outcome(choice: str, first: int, second: int) -> Outcome:
    if choice == "both_bad":
        return "both_bad"
    if first == second:
        return "tie"
    return "a" if first < second else "b"


def ranking_clean(
    given: Sequence[str | Sequence[str]], *, answered: Collection[str], labels: Collection[str]
) -> Ranking:
    """Labels by rank, best first; a lone label stands for a rank of its own. Raises RankingInvalid for an unknown or
    doubled label, one whose answer failed, or fewer than two."""
    ranks = [[rank] if isinstance(rank, str) else list(rank) for rank in given]
    flat = [label for rank in ranks for label in rank]
    for label in flat:
        if label not in labels:
            raise RankingInvalid(f"There is no side {label}. Known are: {', '.join(labels)}.")
        if label not in answered:
            raise RankingInvalid(f"Side {label} has no answer, so it cannot be ranked.")
        if flat.count(label) > 1:
            raise RankingInvalid(f"Side {label} stands in the ranking twice.")
    if len(flat) < 2:
        raise RankingInvalid("A ranking needs at least two sides.")
    return [rank for rank in ranks if rank]
