"""Turns and their answers: ask, ask anew, and keep what the generations report. Called through the services."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import prefetch_related_objects
from django.utils import timezone

from accounts.models import User
from battles import selectors
from battles.blinding import is_revealed, sight_missing
from battles.errors import AlreadyJudged, CannotSee, SideGone, StillAnswering
from battles.images import images_check, images_send
from battles.models import Battle, Response, Side, Turn
from battles.prompts import prompt_clean
from battles.requests import Request, request_for, with_kept_answer
from common.clock import has_lapsed
from common.errors import NotFound
from common.limits import hit
from common.refusals import is_refusal
from providers import live
from providers.errors import EndpointBudgetSpent
from providers.live import GenerationRecord
from providers.services import budget_check, generation_note, models_try

# A response that was stored a moment ago may not have reached its generation yet.
ORPHAN_AFTER = timedelta(seconds=3)
GENERATION = [field.name for field in fields(GenerationRecord)]


@dataclass(frozen=True, slots=True)
class BegunTurn:
    battle: Battle
    turn: Turn
    requests: tuple[Request, ...]


@transaction.atomic
def turn_begin(*, battle_id: UUID, owner: User, prompt: str, images: Sequence[UUID] = ()) -> BegunTurn:
    """Add a turn, with a waiting response for each side. `images` are ids of the person's unsent images.

    Raises NotFound, PromptInvalid, ImagesInvalid, CannotSee, StillAnswering, SideGone, BudgetSpent, TooMany.
    """
    prompt = prompt_clean(prompt, limit=settings.PROMPT_MAX_CHARACTERS)
    images_check(images)
    hit(f"turns:{owner.pk}", limit=settings.BATTLES_PER_HOUR, seconds=3600)
    battle = battle_locked(battle_id=battle_id, owner=owner)
    turns = list(battle.turns.all())
    _refuse_while_answering(response for turn in turns[-1:] for response in turn.responses.all())
    sides = list(battle.sides.all())
    if not all(side.model.is_active for side in sides):
        raise SideGone
    if images and (missing := sight_missing(battle)):
        raise CannotSee(missing)
    _refuse_beyond_budget(battle, sides)
    turn = Turn(battle=battle, number=len(turns) + 1, prompt=prompt)
    now = timezone.now()
    responses = [Response(turn=turn, side=side, model=side.model, started_at=now) for side in sides]
    try:
        with transaction.atomic():
            turn.save()
            Response.objects.bulk_create(responses)
    except IntegrityError:  # another window was faster
        raise StillAnswering from None
    images_send(turn=turn, owner=owner, ids=images)
    prefetch_related_objects([turn], "images")
    requests = [
        with_kept_answer(request_for(battle=battle, turns=[*turns, turn], response=response), user_id=owner.pk)
        for response in responses
    ]
    return BegunTurn(battle, turn, tuple(requests))


@transaction.atomic
def response_regenerate(*, battle_id: UUID, owner: User, label: str) -> tuple[Battle, Request]:
    """Add a fresh attempt at the last turn for one side; the earlier attempt is kept, and no longer stands.

    Raises NotFound, StillAnswering, AlreadyJudged, SideGone, BudgetSpent, TooMany.
    """
    battle = battle_locked(battle_id=battle_id, owner=owner)
    turns = list(battle.turns.all())
    standing = {response.side.label: response for turn in turns[-1:] for response in turn.responses.all()}
    previous = standing.get(label)
    if previous is None:
        raise NotFound("There is no answer on this side to write anew.")
    _refuse_while_answering([previous])
    if any(turns[-1].number <= preference.turns for preference in battle.preferences.all()):
        raise AlreadyJudged
    if not previous.side.model.is_active:
        raise SideGone
    _refuse_beyond_budget(battle, [previous.side])
    hit(f"turns:{owner.pk}", limit=settings.BATTLES_PER_HOUR, seconds=3600)
    Response.objects.filter(pk=previous.pk).update(is_current=False)
    response = Response.objects.create(
        turn=turns[-1],
        side=previous.side,
        model=previous.side.model,
        attempt=previous.attempt + 1,
        started_at=timezone.now(),
    )
    return battle, request_for(battle=battle, turns=turns, response=response)


def battle_locked(*, battle_id: UUID, owner: User) -> Battle:
    """The battle with all its parts, held until the transaction ends (SQLite locks as a whole by itself)."""
    Battle.objects.select_for_update().filter(pk=battle_id).values_list("pk").first()
    return selectors.battle_whole(battle_id=battle_id, viewer=owner)


def _refuse_beyond_budget(battle: Battle, sides: Sequence[Side]) -> None:
    """Whose money is spent would tell a model, so a blind battle only says that it cannot go on."""
    models = [side.model for side in sides]
    try:
        budget_check(user_id=battle.owner_id, contenders=models)
    except EndpointBudgetSpent as error:
        raise error if is_revealed(battle) else SideGone from None
    models_try(models=models)


def _refuse_while_answering(responses: Iterable[Response]) -> None:
    pending = [response for response in responses if response.is_live]
    if pending and responses_sweep(responses=pending) < len(pending):
        raise StillAnswering


@transaction.atomic
def response_save(*, response_id: UUID, record: GenerationRecord) -> None:
    """Store how far a generation is, or how it ended. Its end is added up once, whoever stores it and how often."""
    rows = Response.objects.filter(pk=response_id)
    was_live = rows.select_for_update().filter(status__in=Response.LIVE).values_list("pk").first()
    declines = record.status not in Response.LIVE and is_refusal(record.text, record.finish_reason)
    rows.update(**asdict(record), is_refusal=declines)
    if was_live and record.status not in Response.LIVE:
        for model_id, user_id in rows.values_list("model_id", "turn__battle__owner_id"):
            generation_note(model_id=model_id, user_id=user_id, record=record)
    if record.status in (Response.Status.FAILED, Response.Status.INTERRUPTED):
        _earlier_attempts_stand([response_id])


def _earlier_attempts_stand(failed: Iterable[UUID]) -> None:
    """Where a further attempt came to nothing, the last attempt that was an answer stands again."""
    for response in Response.objects.filter(pk__in=failed, attempt__gt=1, is_current=True):
        earlier = Response.objects.filter(turn=response.turn_id, side=response.side_id, attempt__lt=response.attempt)
        answers = [attempt for attempt in earlier.order_by("-attempt") if attempt.is_answer]
        if answers:
            Response.objects.filter(pk=response.pk).update(is_current=False)
            Response.objects.filter(pk=answers[0].pk).update(is_current=True)


@transaction.atomic
def responses_sweep(*, responses: Iterable[Response] | None = None, before: datetime | None = None) -> int:
    """Mark responses that nobody writes any more as interrupted, with the text that was saved; return how many.

    Without `responses`: all that are stored as live. Those begun after `before` are spared; by default that is a
    moment ago, since they may not have reached their generation yet. What they took by then is added up.
    """
    if responses is None:
        responses = Response.objects.filter(status__in=Response.LIVE)
    before = before or timezone.now() - ORPHAN_AFTER
    ids = {r.id for r in responses if r.is_live and (r.started_at is None or has_lapsed(r.started_at, before))}
    orphans = ids - live.alive(ids)
    if not orphans:
        return 0
    lost = Response.objects.select_for_update().filter(pk__in=orphans, status__in=Response.LIVE)
    now, rows = timezone.now(), list(lost.values(*GENERATION, "pk", "model_id", "turn__battle__owner_id"))
    Response.objects.filter(pk__in=[row["pk"] for row in rows]).update(
        status=Response.Status.INTERRUPTED, finished_at=now
    )
    for row in rows:
        saved = {name: row[name] for name in GENERATION} | {"status": Response.Status.INTERRUPTED, "finished_at": now}
        record = GenerationRecord(**saved)
        generation_note(model_id=row["model_id"], user_id=row["turn__battle__owner_id"], record=record)
    _earlier_attempts_stand(orphans)
    return len(rows)
