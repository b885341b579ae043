"""Category and language of battles: found by rules, by a judge model, or corrected by hand. An author's category and an
administrator's word are never overwritten; every change reaches the comparisons, and so the boards."""

import logging
import re
from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import OuterRef, Q, Subquery

from accounts.models import User
from battles.ballots import SOURCE
from battles.categories import category_of
from battles.errors import LabelInvalid
from battles.languages import language_of
from battles.models import Battle, Category, LabelSource, Turn
from common.audit import Deed, note
from leaderboard.labelling import comparisons_label

log = logging.getLogger(__name__)

BATCH = 200
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
UNSEEN = Q(category_source="") | Q(language_source="")


def battles_describe(*, ids: Collection[UUID] | None = None, again: bool = False) -> int:
    """Find category and language of battles by rules; returns how many were looked at.

    Without `ids`: all that nobody has looked at yet, or with `again` all that a rule has, for when the rules changed.
    In batches of their own; safe to begin again.
    """
    chosen = Battle.objects.all() if ids is None else Battle.objects.filter(pk__in=ids)
    if again:
        rule = LabelSource.RULE
        chosen = chosen.filter(UNSEEN | Q(category_source=rule) | Q(language_source=rule))
    else:
        chosen = chosen.filter(UNSEEN)
    keys = list(chosen.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        _describe_batch(keys[start : start + BATCH])
    return len(keys)


@transaction.atomic
def _describe_batch(keys: Sequence[UUID]) -> None:
    prompt = Turn.objects.filter(battle=OuterRef("pk"), number=1).values("prompt")
    found = Battle.objects.select_for_update().filter(pk__in=keys).annotate(first_prompt=Subquery(prompt))
    for battle in found.iterator():
        text: str | None = getattr(battle, "first_prompt", None)
        if text is None:  # its first turn is still to come
            continue
        changes: dict[str, str] = {}
        if battle.category_source in ("", LabelSource.RULE):
            changes |= {"category": category_of(text).value, "category_source": LabelSource.RULE.value}
        if battle.language_source in ("", LabelSource.RULE):
            changes |= {"language": language_of(text), "language_source": LabelSource.RULE.value}
        _store(battle, changes)


@transaction.atomic
def category_judged(*, battle_id: UUID, category: str, model: str) -> bool:
    """Keep what a judge model says a battle is about; False where its author or an administrator has said it."""
    battle = Battle.objects.select_for_update().filter(pk=battle_id).first()
    if battle is None or battle.category_source in (LabelSource.AUTHOR, LabelSource.ADMIN):
        return False
    changes = {"category": category, "category_source": LabelSource.JUDGE.value}
    before = battle.category
    _store(battle, changes)
    if before != category:
        detail = {"category": [before, category], "model": model}
        note(Deed(actor_id=None, action="battle_label", subject=str(battle_id), detail=detail))
    return True


@transaction.atomic
def battles_relabel(*, ids: Iterable[UUID], actor: User, category: str = "", language: str = "") -> int:
    """Correct category, language or both by hand; returns how many battles that changed. Raises LabelInvalid."""
    language = language.strip()
    if not (category or language):
        raise LabelInvalid("Choose a category, or write a language such as en.")
    if (category and category not in Category.values) or (language and not LANGUAGE.fullmatch(language)):
        raise LabelInvalid
    wanted = {"category": category, "language": language}
    changed = 0
    for battle in Battle.objects.select_for_update().filter(pk__in=list(ids)):
        given = {name: value for name, value in wanted.items() if value}
        before = {name: getattr(battle, name) for name in given}
        _store(battle, given | {f"{name}_source": LabelSource.ADMIN.value for name in given})
        if before != given:
            changed += 1
            detail = {name: [before[name], value] for name, value in given.items()}
            note(Deed(actor_id=actor.pk, action="battle_label", subject=str(battle.pk), detail=detail))
    return changed


def _store(battle: Battle, changes: dict[str, str]) -> None:
    if not changes:
        return
    for name, value in changes.items():
        setattr(battle, name, value)
    battle.save(update_fields=list(changes))
    comparisons_label(
        source_kind=SOURCE, source_ids=[str(battle.pk)], category=battle.category, language=battle.language
    )


def describe_request(battle_id: UUID) -> None:
    """Have a worker look at a battle soon. Never fails: the sweep of the next start finds what was not."""
    from battles.tasks import battles_describe as task  # the task imports this module

    try:
        task.apply_async(([str(battle_id)],), retry=False)
    except Exception as error:  # whatever a broker raises when it is down
        log.warning("battle %s is described at the next start: %r", battle_id, error)
