"""A side of a blind battle whose model failed before its first word is drawn again with another model, so that one
broken endpoint does not spoil the round. Called through the services."""

from random import SystemRandom
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from battles.answering import battle_locked
from battles.models import Battle, Redraw, Response, Side
from battles.requests import Request, request_for
from common.errors import NotFound
from leaderboard.matchmaking import join
from leaderboard.pairing import pairing_scores
from providers.adapters.base import ErrorKind, ProviderError
from providers.live import GenerationRecord
from providers.models import LanguageModel
from providers.services import generation_note, models_try

# The failures that another model may not have.
ANOTHER_MAY_DO = frozenset(
    {ErrorKind.AUTH, ErrorKind.CONNECTION, ErrorKind.RATE_LIMIT, ErrorKind.TIMEOUT, ErrorKind.UPSTREAM}
)
REDRAWS_MAX = 2


@transaction.atomic
def side_redraw(*, response_id: UUID, error: ProviderError) -> Request | None:
    """Put another model on the side of this response, and return what it must be asked; None where there is none, or
    the battle is not one in which that may be done. The model that failed is noted with its failure."""
    response = Response.objects.select_related("turn__battle__owner").filter(pk=response_id).first()
    if response is None or not settings.REDRAW_FAILED_SIDES or error.kind not in ANOTHER_MAY_DO:
        return None
    try:
        battle = battle_locked(battle_id=response.turn.battle_id, owner=response.turn.battle.owner)
    except NotFound:  # deleted meanwhile
        return None
    if not battle.is_blind or battle.revealed_at or response.turn.number > 1 or response.attempt > 1:
        return None
    side = next(side for side in battle.sides.all() if side.pk == response.side_id)
    model = _another(battle, side)
    if model is None or side.redraws.count() >= REDRAWS_MAX:
        return None
    models_try(models=[model])
    words = error.detail.replace("\0", "\ufffd")  # PostgreSQL cannot hold a NUL
    Redraw.objects.create(side=side, model=side.model, error_kind=error.kind.value, error_message=words)
    _note_failure(response, error)
    Side.objects.filter(pk=side.pk).update(model=model)
    Response.objects.filter(pk=response.pk).update(model=model)
    Battle.objects.filter(pk=battle.pk).update(propensity=None)
    side.model = response.model = model
    response.side = side
    return request_for(battle=battle, turns=list(battle.turns.all()), response=response)


def _another(battle: Battle, failed: Side) -> LanguageModel | None:
    """A model that is not and was not in this battle, drawn as the first ones were, to
    stand beside those that stay."""
    sides = battle.sides.all()
    had = {side.model_id for side in sides} | set(
        Redraw.objects.filter(side__battle=battle).values_list("model_id", flat=True)
    )
    pool = LanguageModel.objects.available().exclude(pk__in=had).select_related("endpoint")
    if battle.pool:
        pool = pool.filter(slug__in=battle.pool)
    if any(turn.images.all() for turn in battle.turns.all()):
        pool = pool.filter(sees_images=True)
    beside = [side.model for side in sides if side != failed]
    models = [*beside, *pool]
    weights = [1.0] * len(beside) + [1.0 if battle.pool else model.sampling_weight for model in pool]
    scores = pairing_scores(models, weights)
    chosen = join(scores, range(len(beside)), SystemRandom())
    return None if chosen is None else models[chosen]


def _note_failure(response: Response, error: ProviderError) -> None:
    record = GenerationRecord(
        status=Response.Status.FAILED,
        error_kind=error.kind.value,
        error_message=error.detail,
        started_at=response.started_at,
        finished_at=timezone.now(),
    )
    generation_note(model_id=response.model_id, user_id=response.turn.battle.owner_id, record=record)
