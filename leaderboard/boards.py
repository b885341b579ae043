"""Which comparisons a board is made of."""

from typing import Any

from leaderboard.models import Board, Comparison, ComparisonQuerySet

MAIN = "main"


def comparisons_of(board: Board) -> ComparisonQuerySet:
    """Those of the board that count."""
    rows = Comparison.objects.counted()
    if board.blind_only:
        rows = rows.filter(is_blind__in=[True])
    equal: dict[str, Any] = {"category": board.category, "language": board.language, "board": board.imported_as}
    rows = rows.filter(**{name: value for name, value in equal.items() if value})
    for name, values in (("source_kind", board.sources), ("mode", board.modes)):
        if values:
            rows = rows.filter(**{f"{name}__in": values})
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
    found = boards.filter(slug=slug or MAIN).first()
    return found or (Board(slug=MAIN, sources=[Board.Source.PEOPLE.value]) if slug == MAIN else None)
