"""Which comparisons a board is made of, and the parts of it that have a leaderboard of their own."""

from dataclasses import dataclass
from typing import Any

from leaderboard.exclusions import Exclusion
from leaderboard.models import MAIN, TALK, Board, Comparison, ComparisonQuerySet


@dataclass(frozen=True, slots=True)
class Segment:
    """One category or one language of a board; what is empty filters nothing."""

    category: str = ""
    language: str = ""

    @property
    def filters(self) -> dict[str, str]:
        named = {"category": self.category, "language": self.language}
        return {name: value for name, value in named.items() if value}


WHOLE = Segment()
TALK_SOURCES = (Board.Source.JUDGES, Board.Source.TALKS)


def comparisons_of(board: Board, segment: Segment = WHOLE) -> ComparisonQuerySet:
    """Those of the board that count."""
    return filtered(Comparison.objects.counted(), board).filter(**segment.filters)


def own_comparisons_of(board: Board, person_id: int) -> ComparisonQuerySet:
    """A person's own on a board, those that do not count among them: who could see that they are missing would know
    what nobody is told. Only what they took back themselves is not there."""
    rows = Comparison.objects.filter(voter=person_id).exclude(exclusion=Exclusion.WITHDRAWN)
    return filtered(rows, board)


def filtered(rows: ComparisonQuerySet, board: Board) -> ComparisonQuerySet:
    """What the board's filter leaves of `rows`, which may hold left out ones, too."""
    # IN, because SQLite cannot look up a bare boolean in an index, and would then sort for the GROUP BY.
    rows = rows.filter(is_blind__in=[True] if board.blind_only else [True, False])
    equal: dict[str, Any] = {"category": board.category, "language": board.language, "board": board.imported_as}
    rows = rows.filter(**{name: value for name, value in equal.items() if value})
    for name, values in (("source_kind", board.sources), ("mode", board.modes)):
        if len(values) == 1:
            rows = rows.filter(**{name: values[0]})
        elif values:
            rows = rows.filter(**{f"{name}__in": values})
    # Not where no such comparison can be: the indices of voters and times know no mode.
    if TALK not in board.modes and (not board.sources or {*TALK_SOURCES} & {*board.sources}):
        rows = rows.exclude(mode=TALK)
    if board.since:
        rows = rows.filter(created_at__gte=board.since)
    if board.until:
        rows = rows.filter(created_at__lt=board.until)
    if board.group_id:
        rows = rows.filter(voter__groups=board.group_id)
    return rows


def board_of(slug: str, *, is_staff: bool = False) -> Board | None:
    """The board behind an address; None where there is none that may be seen."""
    boards = Board.objects.all() if is_staff else Board.objects.filter(is_public=True)
    return boards.filter(slug=slug or MAIN).first()


def main_board_create(**kwargs: Any) -> None:
    """The main board is always there; called after each migration."""
    Board.objects.get_or_create(
        slug=MAIN,
        defaults={
            "name": "All blind votes",
            "description": "Every vote that a person on this server cast without knowing whose answers they were.",
            "position": 0,
            "sources": [Board.Source.PEOPLE.value],
        },
    )


def talk_board_create(*, is_judged: bool) -> None:
    """The board of what people, or judge models, said of conversations; made with their first word. Does nothing where
    there is one."""
    source = Board.Source.JUDGES if is_judged else Board.Source.TALKS
    Board.objects.get_or_create(
        slug="conversations-judged" if is_judged else "conversations",
        defaults={
            "name": "Conversations, judged" if is_judged else "Conversations",
            "description": "Which model plays its part better in a conversation of two models, said by "
            + ("judge models." if is_judged else "people who did not know which model it was."),
            "position": 60 if is_judged else 50,
            "sources": [source.value],
            "modes": [TALK],
        },
    )
