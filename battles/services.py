"""Every write of battles: create, go on, regenerate, vote, react, share, delete.

Nothing here waits for a model. What must be asked is returned as `Request`s, for `generation.launch` once the
transaction has ended.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from random import SystemRandom
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from battles import selectors
from battles.errors import (
    AlreadyJudged,
    AlreadyVoted,
    ModelsInvalid,
    NotRevealed,
    NotVotable,
    SideGone,
    StillAnswering,
    TooFewModels,
)
from battles.models import Battle, Category, Preference, Prompt, PromptSet, Reaction, Response, Side, Turn
from battles.prompts import prompt_clean, text_clean
from battles.requests import Request, request_for
from battles.starters import STARTERS
from common.errors import NotFound, TourneyError
from common.limits import hit
from leaderboard.services import NewComparison, comparisons_record
from leaderboard.statistics.matchmaking import draw
from providers import live
from providers.live import GenerationRecord
from providers.models import LanguageModel

LABELS = "ab"
REASONS = ("correct", "helpful", "clear", "instructions", "style", "harmless")
COMMENT_MAX_CHARACTERS = 2_000
SYSTEM_MAX_CHARACTERS = 4_000
# A response that was stored a moment ago may not have reached its generation yet.
ORPHAN_AFTER = timedelta(seconds=3)


@dataclass(frozen=True, slots=True)
class BegunTurn:
    battle: Battle
    turn: Turn
    requests: tuple[Request, ...]


# --- Create and go on ------------------------------------------------------------------------------------


@transaction.atomic
def battle_create(
    *,
    owner: User,
    mode: str = Battle.Mode.BLIND,
    models: Sequence[str] = (),
    category: str = Category.GENERAL,
    system_prompt: str = "",
) -> Battle:
    """Make a battle without a turn; who stands where is drawn at random.

    `models` are slugs: the contenders of a named battle, or the pool that a blind one draws from (all, where empty).
    Raises TooFewModels, ModelsInvalid, PromptInvalid.
    """
    if category not in Category.values or mode not in Battle.Mode.values:
        raise TourneyError("Unknown category or mode.")
    system_prompt = text_clean(system_prompt, limit=SYSTEM_MAX_CHARACTERS, what="system prompt")
    contenders = _contenders(mode=mode, slugs=models)
    battle = Battle.objects.create(owner=owner, mode=mode, category=category, system_prompt=system_prompt)
    Side.objects.bulk_create(
        Side(battle=battle, model=model, label=label) for label, model in zip(LABELS, contenders, strict=True)
    )
    return battle


def _contenders(*, mode: str, slugs: Sequence[str]) -> list[LanguageModel]:
    if not slugs and mode == Battle.Mode.NAMED:
        raise ModelsInvalid
    if not slugs:
        pool = list(LanguageModel.objects.available())
        weights = [model.sampling_weight for model in pool]
    else:
        pool = list(LanguageModel.objects.active().filter(slug__in=slugs))
        if len(pool) != len(set(slugs)) or len(pool) < len(LABELS) or len(slugs) != len(set(slugs)):
            raise ModelsInvalid
        if mode == Battle.Mode.NAMED and len(pool) != len(LABELS):
            raise ModelsInvalid
        weights = [1.0] * len(pool)
    try:
        return [pool[index] for index in draw(weights, len(LABELS), SystemRandom())]
    except ValueError:
        raise TooFewModels from None


@transaction.atomic
def battle_start(
    *,
    owner: User,
    prompt: str,
    mode: str = Battle.Mode.BLIND,
    models: Sequence[str] = (),
    category: str = Category.GENERAL,
    system_prompt: str = "",
) -> BegunTurn:
    """Make a battle and its first turn, both or neither. Raises what `battle_create` and `turn_begin` raise."""
    prompt_clean(prompt, limit=settings.PROMPT_MAX_CHARACTERS)
    battle = battle_create(owner=owner, mode=mode, models=models, category=category, system_prompt=system_prompt)
    return turn_begin(battle_id=battle.id, owner=owner, prompt=prompt)


@transaction.atomic
def turn_begin(*, battle_id: UUID, owner: User, prompt: str) -> BegunTurn:
    """Add a turn, with a waiting response for each side.

    Raises NotFound, PromptInvalid, StillAnswering, SideGone, TooMany.
    """
    prompt = prompt_clean(prompt, limit=settings.PROMPT_MAX_CHARACTERS)
    hit(f"turns:{owner.pk}", limit=settings.BATTLES_PER_HOUR, seconds=3600)
    battle = _battle_locked(battle_id=battle_id, owner=owner)
    turns = list(battle.turns.all())
    _refuse_while_answering(response for turn in turns[-1:] for response in turn.responses.all())
    sides = list(battle.sides.all())
    if not all(_is_playable(side.model) for side in sides):
        raise SideGone
    turn = Turn(battle=battle, number=len(turns) + 1, prompt=prompt)
    now = timezone.now()
    responses = [Response(turn=turn, side=side, started_at=now) for side in sides]
    try:
        with transaction.atomic():
            turn.save()
            Response.objects.bulk_create(responses)
    except IntegrityError:  # another window was faster
        raise StillAnswering from None
    requests = [request_for(battle=battle, turns=[*turns, turn], response=response) for response in responses]
    return BegunTurn(battle, turn, tuple(requests))


@transaction.atomic
def response_regenerate(*, battle_id: UUID, owner: User, label: str) -> tuple[Battle, Request]:
    """Add a fresh attempt at the last turn for one side; the earlier attempt is kept, and no longer stands.

    Raises NotFound, StillAnswering, AlreadyJudged, SideGone, TooMany.
    """
    battle = _battle_locked(battle_id=battle_id, owner=owner)
    turns = list(battle.turns.all())
    standing = {response.side.label: response for turn in turns[-1:] for response in turn.responses.all()}
    previous = standing.get(label)
    if previous is None:
        raise NotFound("There is no answer on this side to write anew.")
    _refuse_while_answering([previous])
    if any(turns[-1].number <= preference.turns for preference in battle.preferences.all()):
        raise AlreadyJudged
    if not _is_playable(previous.side.model):
        raise SideGone
    hit(f"turns:{owner.pk}", limit=settings.BATTLES_PER_HOUR, seconds=3600)
    Response.objects.filter(pk=previous.pk).update(is_current=False)
    response = Response.objects.create(
        turn=turns[-1], side=previous.side, attempt=previous.attempt + 1, started_at=timezone.now()
    )
    return battle, request_for(battle=battle, turns=turns, response=response)


def _battle_locked(*, battle_id: UUID, owner: User) -> Battle:
    """The battle with all its parts, held until the transaction ends (SQLite locks as a whole by itself)."""
    Battle.objects.select_for_update().filter(pk=battle_id).values_list("pk").first()
    return selectors.battle_whole(battle_id=battle_id, viewer=owner)


def _is_playable(model: LanguageModel) -> bool:
    return model.status == LanguageModel.Status.ACTIVE and model.endpoint.is_enabled


def _refuse_while_answering(responses: Iterable[Response]) -> None:
    pending = [response for response in responses if response.is_live]
    if pending and responses_sweep(responses=pending) < len(pending):
        raise StillAnswering


# --- What generations report -----------------------------------------------------------------------------


@transaction.atomic
def response_save(*, response_id: UUID, record: GenerationRecord) -> None:
    """Store how far a generation is, or how it ended."""
    Response.objects.filter(pk=response_id).update(**asdict(record))
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
    moment ago, since they may not have reached their generation yet.
    """
    if responses is None:
        responses = Response.objects.filter(status__in=Response.LIVE)
    before = before or timezone.now() - ORPHAN_AFTER
    ids = {r.id for r in responses if r.is_live and (r.started_at is None or r.started_at <= before)}
    orphans = ids - live.alive(ids)
    if not orphans:
        return 0
    count = Response.objects.filter(pk__in=orphans, status__in=Response.LIVE).update(
        status=Response.Status.INTERRUPTED, finished_at=timezone.now()
    )
    _earlier_attempts_stand(orphans)
    return count


# --- Judge -----------------------------------------------------------------------------------------------


@transaction.atomic
def preference_record(
    *, battle_id: UUID, voter: User, choice: str, reasons: Sequence[str] = (), comment: str = ""
) -> Preference:
    """Store a person's vote, reveal the battle, and push the comparison down to the leaderboard.

    `choice` is a side's label, `tie` or `both_bad`. Raises NotFound, AlreadyVoted, NotVotable, TourneyError.
    """
    comment = text_clean(comment, limit=COMMENT_MAX_CHARACTERS, what="comment")
    if unknown := set(reasons) - set(REASONS):
        raise TourneyError(f"Unknown reason: {', '.join(sorted(unknown))}. Known are: {', '.join(REASONS)}.")
    battle = _battle_locked(battle_id=battle_id, owner=voter)
    sides = {side.label: side for side in battle.sides.all()}
    if choice not in (*sides, Preference.Choice.TIE, Preference.Choice.BOTH_BAD):
        raise TourneyError(f"Unknown choice. Known are: {', '.join(sides)}, tie, both_bad.")
    if battle.preferences.all():
        raise AlreadyVoted
    if not selectors.is_votable(battle):
        raise NotVotable
    now = timezone.now()
    try:
        with transaction.atomic():
            preference = Preference.objects.create(
                battle=battle,
                voter=voter,
                choice=Preference.Choice.WINNER if choice in sides else choice,
                winner=sides.get(choice),
                turns=len(battle.turns.all()),
                reasons=sorted(set(reasons)),
                comment=comment,
            )
    except IntegrityError:
        raise AlreadyVoted from None
    if battle.revealed_at is None:
        Battle.objects.filter(pk=battle.pk).update(revealed_at=now)
    comparisons_record(
        comparisons=[
            NewComparison(
                model_a_id=sides["a"].model_id,
                model_b_id=sides["b"].model_id,
                outcome=choice,
                source_kind="battle",
                source_id=str(battle.id),
                voter_id=voter.pk,
                is_blind=battle.mode == Battle.Mode.BLIND,
                category=battle.category,
                language="",
                created_at=now,
            )
        ]
    )
    return preference


@transaction.atomic
def reaction_set(*, battle_id: UUID, user: User, response_id: UUID, value: str | None) -> None:
    """Like, dislike or take it back. Raises NotFound, TourneyError."""
    if value is not None and value not in Reaction.Value.values:
        raise TourneyError("A reaction is like, dislike or null.")
    response = Response.objects.filter(
        pk=response_id, turn__battle_id=battle_id, turn__battle__owner=user, turn__battle__deleted_at=None
    ).first()
    if response is None:
        raise NotFound
    if value is None:
        Reaction.objects.filter(response=response, user=user).delete()
    else:
        Reaction.objects.update_or_create(response=response, user=user, defaults={"value": value})


# --- Keep, share, delete ---------------------------------------------------------------------------------


@transaction.atomic
def battle_share(*, battle_id: UUID, owner: User) -> Battle:
    """Give the battle a link that anybody may open; the same one each time. It shows the turns that there are now,
    and not those that are asked later. Raises NotFound, NotRevealed."""
    battle = Battle.objects.select_for_update().kept().filter(pk=battle_id, owner=owner).first()
    if battle is None:
        raise NotFound
    if battle.revealed_at is None:
        raise NotRevealed
    battle.share_token = battle.share_token or secrets.token_urlsafe(16)
    battle.shared_turns = battle.turns.count()
    battle.save(update_fields=["share_token", "shared_turns"])
    return battle


def battle_delete(*, battle_id: UUID, owner: User) -> None:
    """Take a battle out of its owner's history and close its share link; its vote still counts. Raises NotFound."""
    if not Battle.objects.kept().filter(pk=battle_id, owner=owner).update(deleted_at=timezone.now()):
        raise NotFound


def battle_restore(*, battle_id: UUID, owner: User) -> None:
    """Undo `battle_delete`. Raises NotFound."""
    if not Battle.objects.filter(pk=battle_id, owner=owner, deleted_at__isnull=False).update(deleted_at=None):
        raise NotFound


@transaction.atomic
def prompts_seed() -> int:
    """Load the prompts that come with Tourney, once; return how many were added. Later edits are left alone."""
    prompt_set, is_new = PromptSet.objects.get_or_create(
        slug="starters", defaults={"name": "Starters", "is_suggested": True}
    )
    if not is_new:
        return 0
    rows = [
        Prompt(prompt_set=prompt_set, category=category, title=title, text=text) for category, title, text in STARTERS
    ]
    return len(Prompt.objects.bulk_create(rows))
