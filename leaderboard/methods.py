"""The ways to order a board, and a snapshot's rows as each of them sees them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from django.utils.translation import gettext_lazy as _

from leaderboard.errors import MethodMissing
from leaderboard.models import Rating, Snapshot
from leaderboard.standing import Numbers, Place, placed
from leaderboard.statistics.types import Floats

Scale = Literal["points", "share"]


@dataclass(frozen=True, slots=True)
class Method:
    """How models are ordered. `extra` is the name under which a snapshot's extras hold it, if they do."""

    key: str
    label: object
    explanation: object
    scale: Scale = "points"
    extra: str = ""


METHODS = {
    method.key: method
    for method in (
        Method("bradley_terry", _("Bradley-Terry"), _("Strengths that explain all votes; a tie is half a win.")),
        Method(
            "davidson",
            _("With ties"),
            _("Bradley-Terry with a parameter for how often equals tie (Davidson)."),
            extra="davidson",
        ),
        Method(
            "plackett_luce",
            _("Rankings"),
            _("Plackett-Luce: whole rankings of line-ups, not only their pairs."),
            extra="plackett_luce",
        ),
        Method("elo", _("Elo"), _("One pass over the votes in their order, as in chess. It has no interval.")),
        Method(
            "win_rate",
            _("Win rate"),
            _("Wins, ties being half; blind to who the opponents were."),
            "share",
        ),
        Method(
            "average_win_rate",
            _("Average win rate"),
            _("The win rate against each opponent, averaged: every opponent weighs the same."),
            "share",
            extra="average_win_rate",
        ),
    )
}
DEFAULT = "bradley_terry"
STYLE_CONTROL, BOOTSTRAP = "style_control", "bootstrap"


@dataclass(frozen=True, slots=True)
class Standing:
    """One model's row on a board under one method; `rating` holds its counts."""

    rating: Rating
    place: Place
    is_preliminary: bool

    @property
    def half_width(self) -> float | None:
        """Half of the interval: the figure after the ±."""
        if self.place.rating_lower is None or self.place.rating_upper is None:
            return None
        return (self.place.rating_upper - self.place.rating_lower) / 2


def standings(
    snapshot: Snapshot,
    ratings: Sequence[Rating],
    *,
    minimum: int,
    method: str = DEFAULT,
    is_style_controlled: bool = False,
    is_bootstrapped: bool = False,
) -> list[Standing]:
    """`ratings`, rows of the snapshot, best first, those without a place last. `minimum`: comparisons below which a
    model is preliminary. Raises MethodMissing where the snapshot does not hold what was asked for."""
    extra = METHODS[method].extra
    if is_style_controlled or is_bootstrapped:
        extra = STYLE_CONTROL if is_style_controlled else BOOTSTRAP
        if method != DEFAULT or (is_style_controlled and is_bootstrapped):
            raise MethodMissing("Style control and bootstrap intervals are for Bradley-Terry, one at a time.")
    if extra:
        places = _places_of_extra(snapshot, ratings, extra)
    elif method == DEFAULT:
        places = [_place(rating) for rating in ratings]
    elif method == "elo":
        played = [rating.elo if rating.comparisons > rating.both_bad else None for rating in ratings]
        nothing = np.full(len(ratings), np.nan)
        places = placed(Numbers(_array(played), nothing, nothing))
        places = [Place(rank=place.rank, rating=place.rating) for place in places]
    else:
        columns = ("win_rate", "win_rate_lower", "win_rate_upper")
        places = placed(Numbers(*(_array(getattr(rating, name) for rating in ratings) for name in columns)))
    rows = [
        Standing(rating, place, rating.comparisons < minimum) for rating, place in zip(ratings, places, strict=True)
    ]
    return sorted(rows, key=lambda row: (row.place.rank is None, row.place.rank or 0))


def certain_leader(rows: Iterable[Standing]) -> Rating | None:
    """The one model that is certainly better than every other by the method of these rows; None where no model is."""
    placed_ones = [row for row in rows if row.place.rank is not None]
    first = [row.rating for row in placed_ones if row.place.rank_upper == 1]
    return first[0] if len(first) == 1 and len(placed_ones) > 1 else None


def methods_of(snapshot: Snapshot) -> list[Method]:
    """Those that the snapshot can answer."""
    there = snapshot.extras.get("methods", {})
    return [method for method in METHODS.values() if not method.extra or method.extra in there]


def has_style_control(snapshot: Snapshot) -> bool:
    return STYLE_CONTROL in snapshot.extras.get("methods", {})


def _place(rating: Rating) -> Place:
    return Place(*(getattr(rating, name) for name in Place.__slots__))


def _places_of_extra(snapshot: Snapshot, ratings: Iterable[Rating], extra: str) -> list[Place]:
    found = snapshot.extras.get("methods", {}).get(extra)
    if found is None:
        raise MethodMissing()
    rows = found["rows"]
    # A model that is new since the extras were made has no place yet.
    return [Place(*rows[key]) if (key := str(rating.model_id)) in rows else Place() for rating in ratings]


def _array(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
