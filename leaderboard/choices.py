"""The links above the table: which board, which part of it, which method."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.utils.translation import gettext_lazy as _

from leaderboard.boards import Segment
from leaderboard.methods import DEFAULT, Method, has_style_control, methods_of
from leaderboard.models import MAIN, Board
from leaderboard.shown import BOOTSTRAP, Shown


@dataclass(frozen=True, slots=True)
class Choice:
    label: object
    query: str
    is_current: bool
    title: object = ""


def board_choices(asked: Shown, boards: Iterable[Board]) -> list[Choice]:
    return [
        Choice(board.name, _query(board="" if board.slug == MAIN else board.slug), board == asked.board)
        for board in boards
    ]


def segment_choices(asked: Shown, segments: Iterable[Segment]) -> list[Choice]:
    """All, then each category and language; the method stays."""
    kept = {name: value for name, value in asked.query.items() if name not in ("category", "language")}
    whole = Choice(_("All"), _query(**kept), asked.segment == Segment())
    return [
        whole,
        *(
            Choice(
                segment.category or segment.language.upper(),
                _query(**kept, **segment.filters),
                segment == asked.segment,
                _("Category") if segment.category else _("Language"),
            )
            for segment in segments
        ),
    ]


def method_choices(asked: Shown) -> list[Choice]:
    """The methods that the votes allow."""
    kept = {name: value for name, value in asked.query.items() if name in ("board", "category", "language")}
    methods: list[Method] = methods_of(asked.snapshot) if asked.snapshot else []
    return [
        Choice(
            method.label,
            _query(**kept, method="" if method.key == DEFAULT else method.key),
            method == asked.method,
            method.explanation,
        )
        for method in methods
    ]


def switch_choices(asked: Shown) -> list[Choice]:
    """What Bradley-Terry ratings can be seen with besides; each link turns one on or off."""
    if asked.snapshot is None or asked.method.key != DEFAULT:
        return []
    kept = {name: value for name, value in asked.query.items() if name in ("board", "category", "language")}
    style = Choice(
        _("Style control"),
        _query(**kept, style_control="" if asked.is_style_controlled else "true"),
        asked.is_style_controlled,
        _("Ratings as if all answers were of equal length and form"),
    )
    bootstrap = Choice(
        _("Bootstrap intervals"),
        _query(**kept, interval="" if asked.is_bootstrapped else BOOTSTRAP),
        asked.is_bootstrapped,
        _("Intervals from 1,000 resamples of the votes instead of a formula"),
    )
    return [*([style] if has_style_control(asked.snapshot) else []), bootstrap]


def _query(**asked: str) -> str:
    return f"?{urlencode({name: value for name, value in asked.items() if value})}"
