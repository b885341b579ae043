"""What goes into an export: who asks, which votes, and in which shape."""

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from battles.exports.errors import ExportInvalid
from battles.models import ImportedPreference, Preference, Reaction
from leaderboard.boards import board_of, comparisons_of
from leaderboard.models import TALK, Board, Comparison

M = TypeVar("M", bound=Model)
SHAPES = ("standard", "conversational")
SOURCES = ("human", "judge", "import")
RANKINGS = ("pairs", "winner")
# How this module calls a source, and how the comparisons do.
KIND_OF_SOURCE = {"human": "battle", "judge": "judge", "import": "import"}
SOURCE_OF_KIND = {kind: source for source, kind in KIND_OF_SOURCE.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The filters of one export. What is empty filters nothing.

    `owner_id` is who may see only their own; None is for administrators: all who share. `minimum_votes` and `majority`
    (a share from 0.5 to 1) ask for agreement among the votes on the same two answers.
    """

    owner_id: int | None
    board: str = ""
    source: str = ""
    since: datetime | None = None
    until: datetime | None = None
    category: str = ""
    language: str = ""
    models: list[str] = field(default_factory=list)
    minimum_votes: int = 1
    majority: float = 0.5
    shape: str = "standard"
    ranking: str = "pairs"
    trajectories: bool = False
    likes: bool = True
    ties: bool = False
    both_bad: bool = False
    comments: bool = False

    @property
    def asks_agreement(self) -> bool:
        return self.minimum_votes > 1 or self.majority > 0.5

    def described(self) -> dict[str, Any]:
        """For the manifest: all filters, and nobody's id."""
        values = asdict(self) | {"people": "all who share" if self.owner_id is None else "own votes only"}
        del values["owner_id"]
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def preferences_selected(selection: Selection) -> QuerySet[Preference]:
    """The votes that may be exported: they count, were not withdrawn, their battle was not deleted, and who voted and
    who wrote the prompts share, or ask for their own. Which of them a board counts, its comparisons tell the
    reader."""
    rows = Preference.objects.filter(exclusion="", withdrawn_at__isnull=True, battle__deleted_at__isnull=True)
    rows = _times(rows, selection)
    if selection.source not in ("", "human"):
        return rows.none()
    if selection.owner_id is None:
        rows = rows.filter(voter__shares_data=True, battle__owner__shares_data=True)
    else:
        rows = rows.filter(voter_id=selection.owner_id, battle__owner_id=selection.owner_id)
    if selection.category:
        rows = rows.filter(battle__category=selection.category)
    if selection.language:
        rows = rows.filter(battle__language=selection.language)
    return rows


def reactions_selected(selection: Selection) -> QuerySet[Reaction]:
    """Likes and dislikes that may be exported, by the same rules; of revealed battles only, for a row names a model."""
    rows = Reaction.objects.filter(
        response__turn__battle__deleted_at__isnull=True,
        response__turn__battle__revealed_at__isnull=False,
        response__is_current=True,
    )
    rows = _times(rows, selection)
    if selection.source not in ("", "human") or selection.board or not selection.likes:
        return rows.none()
    if selection.owner_id is None:
        rows = rows.filter(user__shares_data=True, response__turn__battle__owner__shares_data=True)
    else:
        rows = rows.filter(user_id=selection.owner_id, response__turn__battle__owner_id=selection.owner_id)
    if selection.category:
        rows = rows.filter(response__turn__battle__category=selection.category)
    if selection.language:
        rows = rows.filter(response__turn__battle__language=selection.language)
    if selection.models:
        rows = rows.filter(response__model__slug__in=selection.models)
    return rows


def imported_selected(selection: Selection) -> QuerySet[ImportedPreference]:
    """Preferences from files, for administrators only. They are on no board, and each is one vote."""
    rows = _times(ImportedPreference.objects.all(), selection)
    if selection.owner_id is not None or selection.source not in ("", "import"):
        return rows.none()
    if selection.board or selection.minimum_votes > 1:
        return rows.none()
    if selection.category:
        rows = rows.filter(category=selection.category)
    if selection.language:
        rows = rows.filter(language=selection.language)
    return rows


def comparisons_selected(selection: Selection) -> QuerySet[Comparison]:
    """Outcomes between two models that count; those of people who share, of judges and of imports. What was said of
    whole conversations is only in an export of its board."""
    board = board_asked(selection)
    rows = _times(
        Comparison.objects.counted().exclude(mode=TALK) if board is None else comparisons_of(board), selection
    )
    if selection.source:
        rows = rows.filter(source_kind=KIND_OF_SOURCE[selection.source])
    if selection.owner_id is None:
        rows = rows.filter(Q(voter__isnull=True) | Q(voter__shares_data=True))
    else:
        rows = rows.filter(voter_id=selection.owner_id)
    if selection.category:
        rows = rows.filter(category=selection.category)
    if selection.language:
        rows = rows.filter(language=selection.language)
    if selection.models:
        rows = rows.filter(model_a__slug__in=selection.models, model_b__slug__in=selection.models)
    return rows


def board_asked(selection: Selection) -> Board | None:
    """The board of the selection; None where it names none. Raises ExportInvalid for one that may not be seen."""
    if not selection.board:
        return None
    board = board_of(selection.board, is_staff=selection.owner_id is None)
    if board is None:
        raise ExportInvalid(f"There is no board “{selection.board}”.", fields={"board": ["There is no such board."]})
    return board


def _times(rows: QuerySet[M], selection: Selection) -> QuerySet[M]:
    if selection.since:
        rows = rows.filter(created_at__gte=selection.since)
    if selection.until:
        rows = rows.filter(created_at__lt=selection.until)
    return rows
