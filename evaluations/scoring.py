"""Tables of scores and of won games, with the figures of FastChat's `show_result.py`. Pure.

A judgment without a verdict is in no mean. A pair game is won only where both orders agree; where one order ended
without a verdict the game is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

ROUNDS = 1000
PERCENTILES = (2.5, 97.5)
SEED = 42


@dataclass(frozen=True, slots=True)
class Score:
    """One score that a judge gave."""

    model: str
    question: int
    category: str
    turn: int
    score: float


@dataclass(frozen=True, slots=True)
class Mean:
    """`mean` over `count` scores, `std` their sample standard deviation, and the 95% bootstrap interval over questions.
    `std` is None below two scores."""

    mean: float
    std: float | None
    lower: float
    upper: float
    count: int


@dataclass(frozen=True, slots=True)
class ModelScores:
    """One line of the table. `rank` is 1 for all whom nobody beats beyond the intervals."""

    model: str
    overall: Mean
    turns: Mapping[int, Mean]
    categories: Mapping[str, Mean]
    rank: int


@dataclass(frozen=True, slots=True)
class Game:
    """One question judged in both orders. `first` and `second` say who won in each: 1, 2, 0 for a tie, None for no
    verdict, always in terms of model_1 and model_2."""

    model_1: str
    model_2: str
    question: int
    category: str
    turn: int
    first: int | None
    second: int | None

    @property
    def outcome(self) -> int | None:
        """Who won by both orders, 0 for a tie; None where an order has no verdict."""
        if self.first is None or self.second is None:
            return None
        return self.first if self.first == self.second else 0


@dataclass(slots=True)
class ModelGames:
    """Games of one model."""

    model: str
    wins: int = 0
    losses: int = 0
    ties: int = 0

    @property
    def games(self) -> int:
        return self.wins + self.losses + self.ties

    @property
    def win_rate(self) -> float:
        return self.wins / self.games

    @property
    def win_rate_adjusted(self) -> float:
        """A tie is half a win."""
        return (self.wins + 0.5 * self.ties) / self.games


@dataclass(slots=True)
class Orders:
    """How the two orders of games went together: the same verdict, the other model, a tie in one order only, or no
    verdict in one of them."""

    consistent: int = 0
    flipped: int = 0
    half_ties: int = 0
    errors: int = 0
    first_shown: int = field(default=0)
    second_shown: int = field(default=0)

    @property
    def games(self) -> int:
        return self.consistent + self.flipped + self.half_ties + self.errors

    @property
    def decided(self) -> int:
        """Games with a verdict in both orders."""
        return self.games - self.errors

    @property
    def flipped_share(self) -> float | None:
        """Of the games with a verdict in both orders, the share whose winner changed with the order."""
        return self.flipped / self.decided if self.decided else None

    @property
    def first_share(self) -> float | None:
        """Of the verdicts that name a side, the share that names the one shown first; 0.5 has no bias."""
        named = self.first_shown + self.second_shown
        return self.first_shown / named if named else None


def scores_table(scores: Sequence[Score]) -> list[ModelScores]:
    """The lines, the best mean first. The same scores in any order give the same figures to the last digit."""
    by_model: dict[str, list[Score]] = defaultdict(list)
    for score in sorted(scores, key=lambda score: (score.question, score.turn, score.score)):
        by_model[score.model].append(score)
    means = {model: _mean(own) for model, own in by_model.items()}
    lines = []
    for model, own in by_model.items():
        by_turn, by_category = defaultdict(list), defaultdict(list)
        for score in own:
            by_turn[score.turn].append(score)
            by_category[score.category].append(score)
        lines.append(
            ModelScores(
                model=model,
                overall=means[model],
                turns={turn: _mean(rows) for turn, rows in sorted(by_turn.items())},
                categories={category: _mean(rows) for category, rows in by_category.items()},
                rank=1 + sum(other.lower > means[model].upper for other in means.values()),
            )
        )
    return sorted(lines, key=lambda line: (-line.overall.mean, line.model))


def games_table(games: Iterable[Game], *, baseline: str | None = None) -> list[ModelGames]:
    """Wins, losses and ties of each model, the best adjusted win rate first; against `baseline` only, without it."""
    lines: dict[str, ModelGames] = {}
    for game in games:
        outcome = game.outcome
        if outcome is None or (baseline is not None and baseline not in (game.model_1, game.model_2)):
            continue
        sides = [lines.setdefault(name, ModelGames(name)) for name in (game.model_1, game.model_2)]
        if outcome == 0:
            for side in sides:
                side.ties += 1
        else:
            sides[outcome - 1].wins += 1
            sides[2 - outcome].losses += 1
    rows = [line for line in lines.values() if line.model != baseline]
    return sorted(rows, key=lambda line: (-line.win_rate_adjusted, line.model))


def orders(games: Iterable[Game]) -> Orders:
    """What swapping the sides changed. In the first order model_1 is shown first, in the second model_2."""
    result = Orders()
    for game in games:
        result.first_shown += (game.first == 1) + (game.second == 2)
        result.second_shown += (game.first == 2) + (game.second == 1)
        if game.first is None or game.second is None:
            result.errors += 1
        elif game.first == game.second:
            result.consistent += 1
        elif 0 in (game.first, game.second):
            result.half_ties += 1
        else:
            result.flipped += 1
    return result


def paired_difference(first: Sequence[Score], second: Sequence[Score]) -> tuple[float, float, float]:
    """The mean of `second` less that of `first` over the questions, turn by turn, that both have, with its 95% paired
    bootstrap interval. Raises ValueError where they share none."""
    means = [{key: sum(values) / len(values) for key, values in _grouped(scores).items()} for scores in (first, second)]
    shared = sorted(means[0].keys() & means[1].keys())
    if not shared:
        raise ValueError("the two have no question in common")
    by_question: dict[int, list[float]] = defaultdict(list)
    for question, turn in shared:
        by_question[question].append(means[1][question, turn] - means[0][question, turn])
    lower, upper = _interval(list(by_question.values()))
    differences = [value for values in by_question.values() for value in values]
    return sum(differences) / len(differences), lower, upper


def _grouped(scores: Iterable[Score]) -> dict[tuple[int, int], list[float]]:
    groups: dict[tuple[int, int], list[float]] = defaultdict(list)
    for score in scores:
        groups[score.question, score.turn].append(score.score)
    return groups


def _mean(scores: Sequence[Score]) -> Mean:
    values = np.array([score.score for score in scores])
    by_question: dict[int, list[float]] = defaultdict(list)
    for score in scores:
        by_question[score.question].append(score.score)
    lower, upper = _interval([by_question[question] for question in sorted(by_question)])
    std = float(values.std(ddof=1)) if len(values) > 1 else None
    return Mean(float(values.mean()), std, lower, upper, len(values))


def _interval(clusters: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Percentiles of the mean when whole questions are drawn again: the turns of one are not independent."""
    sums = np.array([sum(values) for values in clusters])
    sizes = np.array([len(values) for values in clusters])
    drawn = _drawn(len(sums))
    lower, upper = np.percentile((drawn @ sums) / (drawn @ sizes), PERCENTILES)
    return float(lower), float(upper)


@lru_cache(maxsize=16)
def _drawn(size: int) -> npt.NDArray[np.float64]:
    """How often each of `size` clusters is drawn in each round: (ROUNDS, size). The same for all models and categories,
    so that their intervals differ by their scores alone."""
    rng = np.random.default_rng(SEED)
    return rng.multinomial(size, np.full(size, 1 / size), size=ROUNDS).astype(np.float64)


def spread(scores: Iterable[Score]) -> float | None:
    """The mean over answers of the sample standard deviation of their repeated scores; None where none was judged
    twice."""
    groups: dict[tuple[str, int, int], list[float]] = defaultdict(list)
    for score in scores:
        groups[score.model, score.question, score.turn].append(score.score)
    repeated = [float(np.std(values, ddof=1)) for values in groups.values() if len(values) > 1]
    return sum(repeated) / len(repeated) if repeated else None


def distribution(scores: Iterable[Score]) -> dict[str, dict[int, int]]:
    """How often each model got each score, rounded down to whole ones."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for score in scores:
        counts[score.model][int(score.score)] += 1
    return {model: dict(sorted(counter.items())) for model, counter in counts.items()}
