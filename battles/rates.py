"""How often each model is drawn, for the page that says how the arena works. Reads only."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count
from django.utils import timezone

from battles.models import Battle, Side
from leaderboard.matchmaking import pair_chances
from leaderboard.pairing import pairing_scores
from providers.models import LanguageModel

RATES_OVER = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class SamplingRate:
    """How often one model is drawn.

    `battles`: blind battles of the last 30 days that it took part in and that were judged, and `share`, 0 to 1, of all
    there were; None where there were none. Others are not counted: who watched the figures grow could tell who answers.
    `chance`: that it takes part in the next blind battle of two, 0 while it is away or is not drawn. `since`: when it
    came into the catalogue; `retired_at`: when it was retired, or None.
    """

    model: LanguageModel
    battles: int
    share: float | None
    chance: float
    since: datetime
    retired_at: datetime | None

    @property
    def share_percent(self) -> float | None:
        return None if self.share is None else 100 * self.share

    @property
    def chance_percent(self) -> float:
        return 100 * self.chance


def sampling_rates() -> list[SamplingRate]:
    """The rates of all models that are active or retired, by name, in five queries; hidden ones are not told."""
    since = timezone.now() - RATES_OVER
    recent = Battle.objects.filter(is_blind=True, created_at__gte=since, revealed_at__isnull=False)
    total = recent.count()
    rows = Side.objects.filter(battle__in=recent).order_by().values("model_id").annotate(n=Count("id"))
    counts = {row["model_id"]: row["n"] for row in rows}
    chances = _chances_now()
    told = LanguageModel.objects.filter(status__in=[LanguageModel.Status.ACTIVE, LanguageModel.Status.RETIRED])
    return [
        SamplingRate(
            model=model,
            battles=counts.get(model.pk, 0),
            share=counts.get(model.pk, 0) / total if total else None,
            chance=chances.get(model.pk, 0.0),
            since=model.created_at,
            retired_at=model.retired_at,
        )
        for model in told.order_by("name")
    ]


def _chances_now() -> dict[int, float]:
    """By model id, the chance to take part in the next blind battle of two; empty where there can be none."""
    models = list(LanguageModel.objects.available())
    scores = pairing_scores(models, [model.sampling_weight for model in models])
    try:
        chances = pair_chances(scores).sum(axis=1).tolist()
    except ValueError:
        return {}
    return dict(zip((model.pk for model in models), chances, strict=True))
