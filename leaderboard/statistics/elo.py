"""Online Elo: one pass in the order of the votes.

Shown beside Bradley-Terry because people know it. It depends on the order and forgets, so nothing is decided by it.
Source: Elo (1978), The Rating of Chessplayers, Past and Present; K = 4 as in Chatbot Arena's first leaderboards.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import exp
from operator import itemgetter

import numpy as np

from leaderboard.statistics.types import MEAN, POINTS, Elo, EloHistory

K = 4.0


def elo(games: Iterable[tuple[int, int, float, float]], start: Sequence[float], *, k: float = K) -> Elo:
    """Play `games` in their order, starting from the ratings `start` of shape (n,) in points.

    A game is (first, second, score of the first: 1, 0.5 or 0, weight); a weight multiplies the step. Carrying on from
    an earlier result gives the same as playing all games at once.
    """
    # A plain loop over a list: two million games take half a second, and NumPy's scalars would take five.
    ratings = list(start)
    played = 0
    for first, second, score, weight in games:
        ahead = ratings[first]
        behind = ratings[second]
        step = weight * k * (score - 1 / (1 + exp((behind - ahead) / POINTS)))
        ratings[first] = ahead + step
        ratings[second] = behind - step
        played += 1
    return Elo(ratings=tuple(ratings), games=played, k=k)


def history(
    games: Iterable[tuple[int, int, float, float]], periods: Iterable[int], start: Sequence[float], *, k: float = K
) -> EloHistory:
    """Play `games` as `elo` does and keep the ratings after each period.

    `periods` has one number for each game, such as its day; games of one period stand together. A model's rating is NaN
    until it has played. Raises ValueError where a period comes back or the lengths differ.
    """
    played = np.zeros(len(start), dtype=np.bool_)
    ratings, rows, numbers = list(start), [], list[int]()
    for period, dated in groupby(zip(periods, games, strict=True), key=itemgetter(0)):
        if period in numbers:
            raise ValueError("the games of a period do not stand together")
        now = [game for _, game in dated]
        ratings = list(elo(now, ratings, k=k).ratings)
        played[[model for game in now for model in game[:2]]] = True
        numbers.append(period)
        rows.append(np.where(played, ratings, np.nan))
    table = np.array(rows) if rows else np.empty((0, len(start)))
    return EloHistory(periods=tuple(numbers), ratings=table, k=k)


def beginners(n: int) -> list[float]:
    """The ratings of n models that have not played."""
    return [MEAN] * n
