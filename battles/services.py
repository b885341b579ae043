"""Every write of battles; turns and answers are in `answering`, votes in `judging`, and all are called through here.

Nothing here waits for a model. What must be asked is returned as `Request`s, for `generation.launch` once the
transaction has ended.
"""

import secrets
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from battles.answering import BegunTurn, response_regenerate, response_save, responses_sweep, turn_begin
from battles.ballots import comparisons_rebuild
from battles.contenders import LABELS, contenders_of
from battles.errors import NotRevealed
from battles.excluding import (
    flagged_votes_apply,
    flags_sweep,
    preferences_count,
    preferences_exclude,
    voter_flag,
    voter_unflag,
)
from battles.images import IMAGES_A_TURN, image_add, image_bytes_max, image_remove, images_check, images_purge
from battles.judging import COMMENT_MAX_CHARACTERS, preference_record, preference_withdraw, reaction_set
from battles.models import Battle, Category, Prompt, PromptSet, Side
from battles.prompts import prompt_clean, text_clean
from battles.redrawing import side_redraw
from battles.starters import STARTERS
from common.audit import Deed, note
from common.errors import NotFound, TourneyError

__all__ = [
    "COMMENT_MAX_CHARACTERS", "IMAGES_A_TURN", "LABELS", "SYSTEM_MAX_CHARACTERS",
    "BegunTurn", "battle_create", "battle_delete", "battle_restore", "battle_share", "battle_start",
    "comparisons_rebuild", "flagged_votes_apply", "flags_sweep", "image_add",
    "image_bytes_max", "image_remove",
    "images_purge", "preference_record", "preference_withdraw", "preferences_count", "preferences_exclude",
    "prompts_seed", "reaction_set",
    "response_regenerate", "response_save", "responses_sweep", "side_redraw", "turn_begin",
    "voter_flag", "voter_unflag",
]  # fmt: skip

SYSTEM_MAX_CHARACTERS = 4_000


@transaction.atomic
def battle_create(
    *,
    owner: User,
    mode: str = Battle.Mode.BLIND,
    models: Sequence[str] = (),
    category: str = Category.GENERAL,
    system_prompt: str = "",
    is_blind: bool | None = None,
    count: int | None = None,
    with_images: bool = False,
    characters: int = 0,
) -> Battle:
    """Make a battle without a turn; of who stands where see `contenders_of`.

    `models` are slugs: the contenders of a named battle or line-up, or the pool that a blind one draws from (all, where
    empty). `is_blind` and `count` are for line-ups: whether names are hidden until the vote, and how many are drawn.
    `with_images` and `characters`: draw only models that can look at images, and hold a prompt of this length.
    Raises TooFewModels, ModelsInvalid, PromptInvalid.
    """
    if category not in Category.values or mode not in Battle.Mode.values:
        raise TourneyError("Unknown category or mode.")
    system_prompt = text_clean(system_prompt, limit=SYSTEM_MAX_CHARACTERS, what="system prompt")
    if mode != Battle.Mode.LINEUP or is_blind is None:
        is_blind = mode == Battle.Mode.BLIND
    models = list(dict.fromkeys(models)) if mode == Battle.Mode.LINEUP else models
    contenders = contenders_of(
        owner=owner,
        mode=mode,
        is_blind=is_blind,
        slugs=models,
        count=count,
        with_images=with_images,
        characters=characters + len(system_prompt),
    )
    battle = Battle.objects.create(
        owner=owner,
        mode=mode,
        is_blind=is_blind,
        category=category,
        system_prompt=system_prompt,
        pool=sorted(models) if is_blind else [],
        propensity=contenders.propensity,
    )
    Side.objects.bulk_create(
        Side(battle=battle, model=model, label=label) for label, model in zip(LABELS, contenders.models, strict=False)
    )
    return battle


@transaction.atomic
def battle_start(*, owner: User, prompt: str, images: Sequence[UUID] = (), **fields: Any) -> BegunTurn:
    """Make a battle and its first turn, both or neither; `fields` are those of `battle_create`. Raises what it and
    `turn_begin` raise."""
    prompt_clean(prompt, limit=settings.PROMPT_MAX_CHARACTERS)
    images_check(images)
    battle = battle_create(owner=owner, with_images=bool(images), characters=len(prompt), **fields)
    return turn_begin(battle_id=battle.id, owner=owner, prompt=prompt, images=images)


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


@transaction.atomic
def battle_delete(*, battle_id: UUID, owner: User) -> None:
    """Take a battle out of its owner's history and close its share link; its vote still counts. Raises NotFound."""
    if not Battle.objects.kept().filter(pk=battle_id, owner=owner).update(deleted_at=timezone.now()):
        raise NotFound
    note(Deed(actor_id=owner.pk, action="battle_delete", subject=str(battle_id)))


@transaction.atomic
def battle_restore(*, battle_id: UUID, owner: User) -> None:
    """Undo `battle_delete`. Raises NotFound."""
    if not Battle.objects.filter(pk=battle_id, owner=owner, deleted_at__isnull=False).update(deleted_at=None):
        raise NotFound
    note(Deed(actor_id=owner.pk, action="battle_restore", subject=str(battle_id)))


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
