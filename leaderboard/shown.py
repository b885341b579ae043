"""What somebody asked to see of the leaderboard, from the newest snapshot: for page, charts and API."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leaderboard import selectors
from leaderboard.boards import Segment, board_of
from leaderboard.errors import BoardMissing
from leaderboard.methods import DEFAULT, METHODS, Method, Standing, standings
from leaderboard.models import MAIN, Board, Snapshot

BOOTSTRAP = "bootstrap"


@dataclass(frozen=True)
class Shown:
    """A board, a part of it, and a method; `snapshot` is None before the first one."""

    board: Board
    segment: Segment
    method: Method
    is_style_controlled: bool
    is_bootstrapped: bool
    snapshot: Snapshot | None
    person_id: int | None = None

    @cached_property
    def standings(self) -> list[Standing]:
        """Rows, best first. Raises MethodMissing."""
        if self.snapshot is None:
            return []
        return standings(
            self.snapshot,
            minimum=self.board.minimum_comparisons,
            method=self.method.key,
            is_style_controlled=self.is_style_controlled,
            is_bootstrapped=self.is_bootstrapped,
        )

    @cached_property
    def pairs(self) -> list[list[int]]:
        """Pairs that met, as the snapshot holds them; read only where they are needed."""
        return self.snapshot.pairs if self.snapshot else []

    @cached_property
    def pending(self) -> int:
        return selectors.pending_count(self.board, self.snapshot, self.segment, person_id=self.person_id)

    @property
    def query(self) -> dict[str, str]:
        """What leads here again; what is usual is left out."""
        asked = {
            "board": "" if self.board.slug == MAIN else self.board.slug,
            "category": self.segment.category,
            "language": self.segment.language,
            "method": "" if self.method.key == DEFAULT else self.method.key,
            "style_control": "true" if self.is_style_controlled else "",
            "interval": BOOTSTRAP if self.is_bootstrapped else "",
        }
        return {name: value for name, value in asked.items() if value}


def shown(asked: Mapping[str, Any], *, is_staff: bool = False, person_id: int | None = None) -> Shown:
    """`asked` has any of board, category, language, method, style_control and interval; unknown methods are the usual
    one. Raises BoardMissing."""
    board = board_of(asked.get("board") or MAIN, is_staff=is_staff)
    if board is None:
        raise BoardMissing()
    segment = Segment(asked.get("category") or "", asked.get("language") or "")
    return Shown(
        board=board,
        segment=segment,
        method=METHODS.get(asked.get("method") or DEFAULT, METHODS[DEFAULT]),
        is_style_controlled=asked.get("style_control") in (True, "true", "1", "on"),
        is_bootstrapped=asked.get("interval") == BOOTSTRAP,
        snapshot=selectors.leaderboard_latest(board, segment, person_id=person_id),
        person_id=person_id,
    )
