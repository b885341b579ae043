"""Who stands where in a new battle. Called through the services."""

from collections.abc import Sequence
from random import SystemRandom

from django.utils import timezone

from battles.errors import ModelsInvalid, TooFewModels, TooFewSeeing
from battles.models import Battle
from leaderboard.statistics.matchmaking import draw
from providers.errors import EndpointBudgetSpent
from providers.models import LanguageModel

LABELS = "abcdefghijklmnopqrstuvwxyz"
PAIR = 2


def contenders_of(
    *, mode: str, is_blind: bool, slugs: Sequence[str], count: int | None, with_images: bool = False
) -> list[LanguageModel]:
    """The models of a new battle in the order of their labels.

    A pair stands in random order. A line-up that is named stands as it was given, or as the catalogue has it where
    nobody was; one that is blind draws `count` from those given, or from all. `with_images` draws only models
    that can look at images. Raises ModelsInvalid, TooFewModels, EndpointBudgetSpent.
    """
    if mode != Battle.Mode.LINEUP:
        if count not in (None, PAIR) or (not slugs and mode == Battle.Mode.NAMED):
            raise ModelsInvalid
        if mode == Battle.Mode.NAMED and len(slugs) != PAIR:
            raise ModelsInvalid
        pool = _pool(slugs, sees=with_images and is_blind)
        return _drawn(_willing(pool, PAIR) if is_blind else pool, PAIR, by_weight=not slugs)
    pool = _pool(slugs, sees=with_images and (is_blind or not slugs))
    wanted = len(pool) if count is None else count
    if not PAIR <= wanted <= len(LABELS) or wanted > len(pool):
        raise ModelsInvalid if slugs or count else TooFewModels
    if is_blind:
        return _drawn(_willing(pool, wanted), wanted, by_weight=not slugs)
    return pool[:wanted]


def _pool(slugs: Sequence[str], *, sees: bool) -> list[LanguageModel]:
    """Those given, in their order, whether or not they answer at this moment; else all that do. Of these, where `sees`,
    those that can look at images and may be drawn."""
    pool = _given(slugs) if slugs else list(LanguageModel.objects.available().select_related("endpoint"))
    if not sees:
        return pool
    pool = [model for model in pool if model.sees_images and (slugs or model.sampling_weight > 0)]
    if len(pool) < PAIR:
        raise TooFewSeeing
    return pool


def _given(slugs: Sequence[str]) -> list[LanguageModel]:
    found = {
        model.slug: model for model in LanguageModel.objects.active().filter(slug__in=slugs).select_related("endpoint")
    }
    if len(found) != len(slugs) or len(slugs) < PAIR:
        raise ModelsInvalid
    return [found[slug] for slug in slugs]


def _willing(pool: Sequence[LanguageModel], count: int) -> Sequence[LanguageModel]:
    """Whom to draw from: those that may be drawn at this moment, where they are enough; else also those that rest or do
    not answer. Raises EndpointBudgetSpent where too few would be left without those whose endpoint has no money."""
    available = [model for model in pool if model.is_available]
    if len(available) >= count:
        return available
    now = timezone.now()
    paid = [m for m in pool if not (m.endpoint and m.endpoint.spent_until and m.endpoint.spent_until > now)]
    if len(paid) < count <= len(pool):
        raise EndpointBudgetSpent
    return paid


def _drawn(pool: Sequence[LanguageModel], count: int, *, by_weight: bool) -> list[LanguageModel]:
    weights = [model.sampling_weight if by_weight else 1.0 for model in pool]
    try:
        return [pool[index] for index in draw(weights, count, SystemRandom())]
    except ValueError:
        raise TooFewModels from None
