"""Every read of the leaderboard. Nothing here fits: pages and API show what a snapshot says."""

from collections.abc import Collection
from typing import cast

from django.db.models import Prefetch

from leaderboard.models import Comparison, Rating, Snapshot


def leaderboard_latest() -> Snapshot | None:
    """The newest snapshot with `ratings.all()` and their models fetched, in two queries; without the table of pairs."""
    ratings = Rating.objects.select_related("model").order_by("rank", "model__name")
    return (
        Snapshot.objects.defer("pairs").order_by("-id").prefetch_related(Prefetch("ratings", queryset=ratings)).first()
    )


def ratings_now(model_ids: Collection[int]) -> dict[int, Rating]:
    """The newest ratings of these models, by model id; a model without one is missing."""
    newest = Snapshot.objects.order_by("-id").values("pk")[:1]
    return {
        rating.model_id: rating
        for rating in Rating.objects.filter(snapshot__in=newest, model_id__in=model_ids).order_by()
    }


def pending_count(snapshot: Snapshot | None) -> int:
    """How many comparisons are newer than the snapshot, all where there is none."""
    after = snapshot.last_comparison_id if snapshot else 0
    return cast(int, Comparison.objects.rating().filter(id__gt=after).count())


def pairs_latest() -> Snapshot | None:
    """The newest snapshot with its table of pairs."""
    return Snapshot.objects.order_by("-id").first()
