"""Every read of the leaderboard. Nothing here fits: pages and API show what a snapshot says."""

from collections.abc import Collection
from datetime import datetime

from django.db.models import F, QuerySet

from leaderboard.boards import WHOLE, Segment, comparisons_of, own_comparisons_of
from leaderboard.models import MAIN, Board, Rating, Snapshot
from providers.models import LanguageModel


def leaderboard_latest(board: Board, segment: Segment = WHOLE, *, person_id: int | None = None) -> Snapshot | None:
    """The newest snapshot of a segment, or of a person's votes on a board; its large parts are read when asked for."""
    return _newest_first(board, segment, person_id).defer("pairs", "extras").first()


def ratings_of(snapshot: Snapshot) -> QuerySet[Rating]:
    """A snapshot's rows with their models, best first. Hidden models are rated and keep their place, but are not named
    to the public."""
    named = snapshot.ratings.exclude(model__status=LanguageModel.Status.HIDDEN)
    return named.select_related("model").order_by(F("rank").asc(nulls_last=True), "model__name")


def ratings_now(model_ids: Collection[int]) -> dict[int, Rating]:
    """The newest ratings of these models on the main board, by model id; a model without one is missing."""
    newest = _main().order_by("-id").values("pk")[:1]
    return {
        rating.model_id: rating
        for rating in Rating.objects.filter(snapshot__in=newest, model_id__in=model_ids).order_by()
    }


def rating_changes(model_ids: Collection[int], since: datetime) -> dict[int, float]:
    """How far each rating of the main board has moved from the last snapshot before `since` to the newest one, by
    model id; a model that is not rated in both, or whose newest snapshot is not newer than `since`, is missing."""
    before = _main().filter(computed_at__lte=since).order_by("-id").values("pk")[:1]
    earlier = {
        rating.model_id: rating.rating
        for rating in Rating.objects.filter(snapshot__in=before, model_id__in=model_ids).order_by()
    }
    newest = _main().filter(computed_at__gt=since).order_by("-id").values("pk")[:1]
    return {
        rating.model_id: rating.rating - was
        for rating in Rating.objects.filter(snapshot__in=newest, model_id__in=model_ids).order_by()
        if (was := earlier.get(rating.model_id)) is not None and rating.rating is not None
    }


def pending_count(
    board: Board, snapshot: Snapshot | None, segment: Segment = WHOLE, *, person_id: int | None = None
) -> int:
    """How many comparisons of the segment, or of the person, are newer than the snapshot, all where there is none."""
    after = snapshot.last_comparison_id if snapshot else 0
    rows = own_comparisons_of(board, person_id) if person_id else comparisons_of(board, segment)
    return rows.filter(id__gt=after).count()


def hidden_models() -> list[int]:
    """Ids of those that are not to be named; what was drawn before must not name them, either."""
    hidden = LanguageModel.objects.filter(status=LanguageModel.Status.HIDDEN)
    return list(hidden.order_by("pk").values_list("pk", flat=True))


def segments_of(*boards: Board) -> dict[int, list[Segment]]:
    """The categories, then the languages, that have a leaderboard of their own now, by the board's id; one query."""
    rows = Snapshot.objects.filter(board__in=boards, person=None).exclude(category="", language="").order_by()
    found: dict[int, list[Segment]] = {board.pk: [] for board in boards}
    told = rows.values_list("board_id", "category", "language").distinct()
    for board_id, *segment in sorted(told, key=lambda row: (row[1] == "", row)):
        found[board_id].append(Segment(*segment))
    return found


def boards_listed(*, is_staff: bool) -> list[Board]:
    """Those that may be seen, in the order of their tabs."""
    return list(Board.objects.all() if is_staff else Board.objects.filter(is_public=True))


def personal_is_old(snapshot: Snapshot | None) -> bool:
    """Whether everybody's ratings have changed since a person's ranking was made."""
    newest = _main().order_by("-id").values_list("pk", flat=True).first()
    return snapshot is not None and snapshot.parameters.get("everybody") != newest


def _newest_first(board: Board, segment: Segment, person_id: int | None = None) -> QuerySet[Snapshot]:
    return Snapshot.objects.filter(
        board=board, person=person_id, category=segment.category, language=segment.language
    ).order_by("-id")


def _main() -> QuerySet[Snapshot]:
    return Snapshot.objects.filter(board__slug=MAIN, person=None, category="", language="")
