"""Who stands where in a new battle. Called through the services."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import SystemRandom

from django.utils import timezone

from accounts.models import User
from battles.errors import ModelsInvalid, TooFewModels, TooFewSeeing
from battles.models import Battle, Side
from leaderboard.matchmaking import draw
from leaderboard.pairing import pairing_scores
from providers.client import CHARACTERS_A_TOKEN_AT_MOST
from providers.errors import EndpointBudgetSpent
from providers.models import LanguageModel

LABELS = "abcdefghijklmnopqrstuvwxyz"
PAIR = 2


@dataclass(frozen=True, slots=True)
class Contenders:
    """Models in the order of their labels, and the chance with which just these were drawn; None where nobody was, or
    it was not worked out."""

    models: Sequence[LanguageModel]
    propensity: float | None = None


def contenders_of(
    *,
    owner: User,
    mode: str,
    is_blind: bool,
    slugs: Sequence[str],
    count: int | None,
    with_images: bool = False,
    characters: int = 0,
) -> Contenders:
    """The models of a new battle of `owner`.

    A pair stands in random order. A line-up that is named stands as it was given, or as the catalogue has it where
    nobody was; one that is blind draws `count` from those given, or from all. `with_images` draws only models
    that can look at images; `characters` is the length of the prompt, and models that cannot hold it are not drawn.
    Raises ModelsInvalid, TooFewModels, EndpointBudgetSpent.
    """
    if mode != Battle.Mode.LINEUP:
        if count not in (None, PAIR) or (not slugs and mode == Battle.Mode.NAMED):
            raise ModelsInvalid
        if mode == Battle.Mode.NAMED and len(slugs) != PAIR:
            raise ModelsInvalid
        pool = _pool(slugs, sees=with_images and is_blind)
        if not is_blind:
            return Contenders(SystemRandom().sample(pool, PAIR))
        wanted = PAIR
    else:
        pool = _pool(slugs, sees=with_images and (is_blind or not slugs))
        wanted = len(pool) if count is None else count
        if not PAIR <= wanted <= len(LABELS) or wanted > len(pool):
            raise ModelsInvalid if slugs or count else TooFewModels
        if not is_blind:
            return Contenders(pool[:wanted])
    willing = _roomy(_willing(pool, wanted), characters, wanted)
    return _drawn(willing, wanted, owner=owner, by_weight=not slugs)


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


def _roomy(pool: Sequence[LanguageModel], characters: int, count: int) -> Sequence[LanguageModel]:
    """Those whose window may hold the prompt, where they are enough; the others would only refuse it."""
    tokens = characters / CHARACTERS_A_TOKEN_AT_MOST
    roomy = [model for model in pool if model.context_window is None or model.context_window >= tokens]
    return roomy if len(roomy) >= count else pool


def _drawn(pool: Sequence[LanguageModel], count: int, *, owner: User, by_weight: bool) -> Contenders:
    scores = pairing_scores(pool, [model.sampling_weight if by_weight else 1.0 for model in pool])
    last = _last_models(owner) if count == PAIR else []
    unlike = [index for index, model in enumerate(pool) if model.pk in last]
    try:
        drawn = draw(scores, count, SystemRandom(), unlike=unlike)
    except ValueError:
        raise TooFewModels from None
    return Contenders([pool[index] for index in drawn.members], drawn.propensity)


def _last_models(owner: User) -> list[int]:
    """The ids of those who met in the person's last blind battle: nobody gets a pair twice in a row."""
    newest = Battle.objects.filter(owner=owner, is_blind=True).order_by("-created_at").values("pk")[:1]
    return list(Side.objects.filter(battle__in=newest).order_by().values_list("model_id", flat=True))
