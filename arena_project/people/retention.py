"""What is not kept for ever, and for how long it is. Each rule says what falls under it and how it goes; a dry run
counts the same rows. Votes stay in the ratings without who gave them, so that a leaderboard does not change."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.audit import log_purge
from accounts.idempotency import ANSWERS_KEPT
from accounts.models import AuditEntry, IdempotentRequest, User
from arena_project.people.erasing import people_erase_due
from battles.ballots import SOURCE
from battles.models import Battle
from common.audit import Deed, note
from conversations.comparing.services import SOURCE as TALKS
from conversations.models import Conversation, ConversationPair
from leaderboard.services import votes_forget
from providers.models import CachedAnswer

BATCH = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """`days` None keeps for ever. `rows` are those whose time was over at a moment."""

    name: str
    setting: str
    days: Callable[[], int | None]
    rows: Callable[[datetime], QuerySet[Any]]
    end: Callable[[QuerySet[Any], datetime], int]


def _limited(name: str) -> Callable[[], int | None]:
    return lambda: getattr(settings, name) or None


def _delete(rows: QuerySet[Any], before: datetime) -> int:
    gone = 0
    while ids := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            rows.model._default_manager.filter(pk__in=ids).delete()
        gone += len(ids)
    return gone


def _delete_battles(rows: QuerySet[Any], before: datetime) -> int:
    gone = 0
    while ids := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            votes_forget(source_kind=SOURCE, source_ids=[str(pk) for pk in ids])
            Battle.objects.filter(pk__in=ids).delete()
        gone += len(ids)
    return gone


def _delete_conversations(rows: QuerySet[Any], before: datetime) -> int:
    """Pairs that they were compared in go with them."""
    gone = 0
    while ids := list(rows.order_by().values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            pairs = ConversationPair.objects.filter(Q(conversation_a__in=ids) | Q(conversation_b__in=ids))
            votes_forget(source_kind=TALKS, source_ids=[str(pk) for pk in pairs.values_list("pk", flat=True)])
            Conversation.objects.filter(pk__in=ids).delete()
        gone += len(ids)
    return gone


def _old_battles(before: datetime) -> QuerySet[Any]:
    """Old, and not shared; what is being written at this moment is young."""
    return Battle.objects.filter(created_at__lt=before, share_token=None)


def _deleted(model: Any) -> Callable[[datetime], QuerySet[Any]]:
    return lambda before: model.objects.filter(deleted_at__lt=before)


RULES = (
    Rule(
        "closed accounts",
        "ACCOUNT_GRACE_DAYS",
        lambda: settings.ACCOUNT_GRACE_DAYS,
        lambda before: User.objects.filter(deletion_asked_at__lte=before, is_active=False),
        lambda rows, before: people_erase_due(),
    ),
    Rule(
        "battles that were deleted",
        "RETENTION_DELETED_DAYS",
        lambda: settings.RETENTION_DELETED_DAYS,
        _deleted(Battle),
        _delete_battles,
    ),
    Rule(
        "conversations that were deleted",
        "RETENTION_DELETED_DAYS",
        lambda: settings.RETENTION_DELETED_DAYS,
        _deleted(Conversation),
        _delete_conversations,
    ),
    Rule(
        "battles that are not shared",
        "RETENTION_BATTLES_DAYS",
        _limited("RETENTION_BATTLES_DAYS"),
        _old_battles,
        _delete_battles,
    ),
    Rule(
        "conversations outside of experiments",
        "RETENTION_CONVERSATIONS_DAYS",
        _limited("RETENTION_CONVERSATIONS_DAYS"),
        lambda before: Conversation.objects.filter(created_at__lt=before, experiment=None).exclude(state="running"),
        _delete_conversations,
    ),
    Rule(
        "entries of the audit log",
        "RETENTION_AUDIT_DAYS",
        _limited("RETENTION_AUDIT_DAYS"),
        lambda before: AuditEntry.objects.filter(created_at__lt=before),
        lambda rows, before: log_purge(before=before),
    ),
    Rule(
        "kept answers that have expired",
        "",
        lambda: 0,
        lambda before: CachedAnswer.objects.filter(expires_at__lt=before),
        _delete,
    ),
    Rule(
        "answers to repeated requests",
        "",
        lambda: ANSWERS_KEPT.days,
        lambda before: IdempotentRequest.objects.filter(created_at__lt=before),
        _delete,
    ),
    Rule(
        "sessions that are over",
        "",
        lambda: 0,
        lambda before: Session.objects.filter(expire_date__lt=before),
        _delete,
    ),
)


def retention_apply(*, dry_run: bool = False) -> dict[str, int]:
    """End what has been kept long enough; returns how many rows of each rule, or with `dry_run` how many there are."""
    now, counts = timezone.now(), {}
    for rule in RULES:
        days = rule.days()
        if days is None:
            continue
        before = now - timedelta(days=days)
        rows = rule.rows(before)
        counts[rule.name] = rows.count() if dry_run else rule.end(rows, before)
    if not dry_run and (gone := {name: count for name, count in counts.items() if count}):
        note(Deed(actor_id=None, action="retention_apply", detail=gone))
    return counts
