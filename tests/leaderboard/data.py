"""Comparisons for the leaderboard's tests."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from accounts.models import User
from leaderboard import services
from leaderboard.models import Comparison, Snapshot
from leaderboard.services import NewComparison
from providers.models import LanguageModel

BEGINNING = datetime(2026, 5, 1, 12, tzinfo=UTC)

_numbers = itertools.count(1)


def new(model_a: LanguageModel, model_b: LanguageModel, outcome: str = "a", **fields: Any) -> NewComparison:
    """One blind judgement of an unknown person, unless `fields` say otherwise."""
    number = next(_numbers)
    values: dict[str, Any] = {
        "model_a_id": model_a.pk,
        "model_b_id": model_b.pk,
        "outcome": outcome,
        "source_kind": "battle",
        "source_id": f"battle-{number}",
        "voter_id": None,
        "is_blind": True,
        "category": "general",
        "language": "",
        "created_at": BEGINNING + timedelta(minutes=number),
    }
    return NewComparison(**values | fields)


def stored(
    model_a: LanguageModel, model_b: LanguageModel, outcome: str = "a", *, voter: User | None = None, **fields: Any
) -> Comparison:
    """The same, in the database, past the service."""
    one = new(model_a, model_b, outcome)
    values = (
        {name: getattr(one, name) for name in one.__slots__ if name != "style"}
        | {"voter_id": voter and voter.pk}
        | fields
    )
    return Comparison.objects.create(**values)


def rebuilt() -> Snapshot | None:
    """Make all snapshots; the main board's, if it has changed."""
    made = services.snapshots_rebuild()
    return next((snapshot for snapshot in made if not snapshot.category and not snapshot.language), None)
