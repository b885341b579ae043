"""Leaving votes out, and taking that back: by an administrator, or for a person who is flagged. The ratings follow."""

import logging
from collections.abc import Collection

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts import services as accounts
from accounts.errors import ReasonMissing
from accounts.models import User
from battles.ballots import SOURCE
from battles.models import Preference
from common.audit import Deed, note
from leaderboard.exclusions import Exclusion
from leaderboard.models import Board, Comparison
from leaderboard.services import comparisons_exclude, comparisons_follow_flag

log = logging.getLogger(__name__)

BATCH = 500


@transaction.atomic
def preferences_exclude(*, ids: Collection[int], reason: str, actor: User) -> int:
    """Leave votes out of the ratings for a reason in words, which the audit log keeps; returns how many changed.

    Votes that are left out already keep the reason they have. Raises ReasonMissing.
    """
    rows = Preference.objects.filter(pk__in=ids, exclusion="")
    return _decide(rows, to=Exclusion.ADMIN, action="preference_exclude", reason=reason, actor=actor)


@transaction.atomic
def preferences_count(*, ids: Collection[int], reason: str, actor: User) -> int:
    """Count votes again; returns how many changed. What its voter took back stays out. No rule leaves them out a
    second time. Raises ReasonMissing."""
    rows = Preference.objects.filter(pk__in=ids).exclude(exclusion__in=["", Exclusion.WITHDRAWN])
    return _decide(rows, to="", action="preference_count", reason=reason, actor=actor)


def _decide(rows: QuerySet[Preference], *, to: str, action: str, reason: str, actor: User) -> int:
    reason = reason.strip()
    if not reason:
        raise ReasonMissing
    found = list(rows.select_for_update().only("battle_id", "exclusion"))
    for start in range(0, len(found), BATCH):
        part = found[start : start + BATCH]
        Preference.objects.filter(pk__in=[row.pk for row in part]).update(exclusion=to, is_reviewed=True)
        _push([str(row.battle_id) for row in part], to)
        note(
            *(
                Deed(
                    actor_id=actor.pk,
                    action=action,
                    subject=str(row.battle_id),
                    detail={"reason": reason, "was": row.exclusion, "is": to},
                )
                for row in part
            )
        )
    return len(found)


@transaction.atomic
def voter_flag(*, voter: User, reason: str, actor: User | None) -> None:
    """Flag a person: a worker leaves out the votes they gave, and those they give from now on do not count. Raises
    ReasonMissing."""
    accounts.user_flag(user=voter, reason=reason, actor=actor)
    transaction.on_commit(lambda: _enqueue(voter.pk))


@transaction.atomic
def voter_unflag(*, voter: User, reason: str, actor: User | None) -> None:
    """Take the flag back: a worker brings back what was left out for it alone. Raises ReasonMissing."""
    accounts.user_unflag(user=voter, reason=reason, actor=actor)
    transaction.on_commit(lambda: _enqueue(voter.pk))


def flagged_votes_apply(*, voter_id: int) -> int:
    """Make a person's votes say what their flag says; returns how many changed. Other reasons stay, and so does what
    an administrator has decided about a vote. In batches, so that nobody waits for the lock; safe to begin again."""
    changed = 0
    while count := _apply_batch(voter_id):
        changed += count
    if voter := User.objects.filter(pk=voter_id).first():
        # What they said of conversations has no decision beside the comparison itself.
        changed += comparisons_follow_flag(
            voter_id=voter_id, is_flagged=voter.flagged_at is not None, source_kind=Board.Source.TALKS
        )
    return changed


@transaction.atomic
def _apply_batch(voter_id: int) -> int:
    voter = User.objects.select_for_update().filter(pk=voter_id).first()
    if voter is None:
        return 0
    own = Preference.objects.filter(voter=voter)
    if voter.flagged_at:
        rows, to = own.filter(exclusion="", is_reviewed=False), Exclusion.FLAGGED.value
    else:
        rows, to = own.filter(exclusion=Exclusion.FLAGGED), ""
    found = list(rows.order_by("pk").values_list("pk", "battle_id")[:BATCH])
    Preference.objects.filter(pk__in=[pk for pk, _ in found]).update(exclusion=to)
    _push([str(battle_id) for _, battle_id in found], to)
    return len(found)


def flags_sweep() -> int:
    """Apply all flags again, for those that a worker that died, or a vote at the same moment, left half done."""
    left = Q(voter__flagged_at__isnull=False, exclusion="", is_reviewed=False)
    left |= Q(voter__flagged_at__isnull=True, exclusion=Exclusion.FLAGGED)
    voters = list(Preference.objects.filter(left).order_by().values_list("voter_id", flat=True).distinct())
    return sum(flagged_votes_apply(voter_id=voter_id) for voter_id in voters)


def _push(battles: Collection[str], to: str) -> None:
    comparisons_exclude(comparisons=Comparison.objects.filter(source_kind=SOURCE, source_id__in=battles), reason=to)


def _enqueue(voter_id: int) -> None:
    """Never fails: the sweep of the next start finds what a broker did not take."""
    from battles.tasks import flagged_votes_apply as task  # the task imports this module

    try:
        task.apply_async((voter_id,), retry=False)
    except Exception as error:  # whatever a broker raises when it is down
        log.warning("the votes of person %s follow their flag at the next start: %r", voter_id, error)
