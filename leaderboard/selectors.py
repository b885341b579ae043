"""Every read of the leaderboard. Nothing here fits: pages and API show what a snapshot says."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import F, Prefetch

from leaderboard.models import Comparison, Rating, Snapshot
from providers.models import LanguageModel


def leaderboard_latest() -> Snapshot | None:
    """The newest snapshot with `ratings.all()` and their models fetched, in two queries; without the table of pairs.

    Hidden models are rated and keep their place, but are not named to the public.
    """
    ratings = (
        Rating.objects.exclude(model__status=LanguageModel.Status.HIDDEN)
        .select_related("model")
        .order_by(F("rank").asc(nulls_last=True), "model__name")
    )
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


def rating_changes(model_ids: Collection[int], since: datetime) -> dict[int, float]:
    """How far each rating has moved from the last snapshot before `since` to the newest one, by model id; a model
    that is not rated in both, or whose newest snapshot is not newer than `since`, is missing."""
    before = Snapshot.objects.filter(computed_at__lte=since).order_by("-id").values("pk")[:1]
    earlier = {
        rating.model_id: rating.rating
        for rating in Rating.objects.filter(snapshot__in=before, model_id__in=model_ids).order_by()
    }
    newest = Snapshot.objects.filter(computed_at__gt=since).order_by("-id").values("pk")[:1]
    return {
        rating.model_id: rating.rating - was
        for rating in Rating.objects.filter(snapshot__in=newest, model_id__in=model_ids).order_by()
        if (was := earlier.get(rating.model_id)) is not None and rating.rating is not None
    }


def pending_count(snapshot: Snapshot | None) -> int:
    """How many comparisons are newer than the snapshot, all where there is none."""
    after = snapshot.last_comparison_id if snapshot else 0
    return Comparison.objects.rating().filter(id__gt=after).count()


def pairs_latest() -> tuple[Snapshot | None, dict[int, LanguageModel]]:
    """The newest snapshot with its table of pairs, and by id the models that may be named, best first."""
    snapshot = Snapshot.objects.order_by("-id").first()
    latest = leaderboard_latest() if snapshot else None
    return snapshot, {rating.model_id: rating.model for rating in latest.ratings.all()} if latest else {}


def certain_leader(ratings: Iterable[Rating]) -> Rating | None:
    """The one model that lies above all others with its whole interval; None where no model does."""
    rated = [rating for rating in ratings if rating.rank is not None]
    if len(rated) < 2:
        return None
    return next((rating for rating in rated if rating.rank_upper == 1), None)
