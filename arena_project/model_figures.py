"""How each model fared in a span: how much it was asked, what failed, how fast it was and what it cost."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from django.db.models import Sum

from battles.models import Response
from providers.models import Usage

MODELS_SHOWN = 25
# The newest answers of battles; enough for a median, and as many for a large arena as for a small one.
TIMED = 5_000


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """`first_token_ms` and `tokens_a_second` are medians over the newest answers of battles; None where there are
    none. `cost` is in US dollars."""

    name: str
    answers: int
    failures: int
    cost: float
    first_token_ms: float | None
    tokens_a_second: float | None

    @property
    def failed_percent(self) -> float:
        return 100 * self.failures / self.answers if self.answers else 0.0


def models_since(since: datetime) -> list[ModelFigures]:
    """Those that were asked most, first."""
    rows = Usage.objects.filter(day__gt=since.astimezone(UTC).date()).order_by().values("model", "model__name")
    used = rows.annotate(answers=Sum("requests"), failed=Sum("failures"), dollars=Sum("cost"))
    firsts, speeds = _times(since)
    return [
        ModelFigures(
            name=row["model__name"],
            answers=row["answers"],
            failures=row["failed"],
            cost=float(row["dollars"]),
            first_token_ms=_median(firsts[row["model"]]),
            tokens_a_second=_median(speeds[row["model"]]),
        )
        for row in used.order_by("-answers", "model__name")[:MODELS_SHOWN]
    ]


def _times(since: datetime) -> tuple[dict[int, list[float]], dict[int, list[float]]]:
    """Milliseconds to the first token and tokens a second, by model."""
    firsts: dict[int, list[float]] = defaultdict(list)
    speeds: dict[int, list[float]] = defaultdict(list)
    rows = Response.objects.filter(started_at__gte=since, first_token_ms__isnull=False).order_by("-started_at")
    for model, first, whole, tokens in rows.values_list("model", "first_token_ms", "latency_ms", "output_tokens")[
        :TIMED
    ]:
        if first is None:
            continue
        firsts[model].append(first)
        if tokens and whole and whole > first:
            speeds[model].append(1000 * tokens / (whole - first))
    return firsts, speeds


def _median(values: Iterable[float]) -> float | None:
    found = list(values)
    return median(found) if found else None
