"""Every write about people and the keys of their programs."""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from accounts.errors import (
    KeyNotFound,
    LastAdministrator,
    LinkExpired,
    NotConfirmed,
    ReasonMissing,
    ScopeNotGrantable,
)
from accounts.key_usage import request_counted, requests_write
from accounts.links import login_links
from accounts.models import ApiKey, Scope, User
from accounts.selectors import KEY_START, digest_of
from common.audit import Deed, note

LAST_USE_WRITTEN_EVERY = timedelta(minutes=1)
PREFIX_BYTES = 4
SECRET_BYTES = 32


@transaction.atomic
def apikey_issue(
    *,
    user: User,
    name: str,
    scopes: Collection[str],
    expires_at: datetime | None = None,
    actor: User | None = None,
) -> tuple[ApiKey, str]:
    """Make a key and return it with its text `tny_<prefix>_<secret>`, which is known now and never again.

    `actor` is who made it, the person of the key themselves where nobody else is named.
    Raises ScopeNotGrantable for no scope, an unknown one, or admin for somebody who is not staff.
    """
    wanted = set(scopes)
    if not wanted or not wanted <= set(Scope.values) or (Scope.ADMIN in wanted and not user.is_staff):
        raise ScopeNotGrantable(fields={"scopes": [ScopeNotGrantable.message]})
    prefix = secrets.token_hex(PREFIX_BYTES)
    secret = secrets.token_urlsafe(SECRET_BYTES)
    key = ApiKey.objects.create(
        user=user,
        name=name,
        prefix=prefix,
        digest=digest_of(secret),
        scopes=[scope for scope in Scope.values if scope in wanted],
        expires_at=expires_at,
    )
    detail = {"name": name, "of": user.username, "scopes": key.scopes}
    note(Deed(actor_id=(actor or user).pk, action="apikey_issue", subject=prefix, detail=detail))
    return key, f"{KEY_START}_{prefix}_{secret}"


@transaction.atomic
def apikey_revoke(*, user: User, apikey_id: int, actor: User | None = None) -> None:
    """End one of the person's own keys for good. Raises KeyNotFound for any other; twice is once."""
    key = ApiKey.objects.filter(user=user, pk=apikey_id).first()
    if key is None:
        raise KeyNotFound()
    if ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=timezone.now()):
        detail = {"name": key.name, "of": user.username}
        note(Deed(actor_id=(actor or user).pk, action="apikey_revoke", subject=key.prefix, detail=detail))


def apikey_used(*, apikey: ApiKey) -> None:
    """Count the use, and write it down with its time at most once a minute: a write on every request would make readers
    wait for SQLite's lock."""
    now = timezone.now()
    request_counted(apikey)
    if apikey.last_used_at is None or now - apikey.last_used_at > LAST_USE_WRITTEN_EVERY:
        stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - LAST_USE_WRITTEN_EVERY)
        if ApiKey.objects.filter(stale, pk=apikey.pk).update(last_used_at=now):
            requests_write(apikey)


@transaction.atomic
def user_make(*, name: str, is_staff: bool = False) -> User:
    """A person, or a program's own account, without a password. Raises ValidationError for a name that cannot be."""
    user = User(username=name, is_staff=is_staff)
    user.set_unusable_password()
    user.full_clean()
    user.save()
    if is_staff:
        note(Deed(actor_id=None, action="roles_change", subject=name, detail={"is_staff": [False, True]}))
    return user


@transaction.atomic
def user_flag(*, user: User, reason: str, actor: User | None) -> None:
    """Mark a person whose votes shall not count. What follows for the votes is for the app that has them.

    Raises ReasonMissing.
    """
    reason = reason.strip()[: User._meta.get_field("flag_reason").max_length]
    if not reason:
        raise ReasonMissing
    User.objects.filter(pk=user.pk, flagged_at=None).update(flagged_at=timezone.now())
    User.objects.filter(pk=user.pk).update(flag_reason=reason)
    note(
        Deed(actor_id=actor.pk if actor else None, action="user_flag", subject=user.username, detail={"reason": reason})
    )


@transaction.atomic
def user_unflag(*, user: User, reason: str, actor: User | None) -> None:
    """Take the mark back. Raises ReasonMissing."""
    if not reason.strip():
        raise ReasonMissing
    if User.objects.filter(pk=user.pk).exclude(flagged_at=None).update(flagged_at=None, flag_reason=""):
        detail = {"reason": reason.strip()}
        note(Deed(actor_id=actor.pk if actor else None, action="user_unflag", subject=user.username, detail=detail))


@transaction.atomic
def account_close(*, user: User, confirmation: str) -> None:
    """Close the person's own account at once: nobody can log in, no key works, what was shared is shared no more. Its
    data is erased ACCOUNT_GRACE_DAYS later; until then an administrator can open it again.

    `confirmation` is the user name, typed once more. Raises NotConfirmed, LastAdministrator.
    """
    if confirmation.strip() != user.username:
        raise NotConfirmed(fields={"confirm": [NotConfirmed.message]})
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not others.exists():
        raise LastAdministrator
    user.is_active, user.shares_data, user.deletion_asked_at = False, False, timezone.now()
    user.save(update_fields=["is_active", "shares_data", "deletion_asked_at"])
    note(Deed(actor_id=user.pk, action="account_close", subject=user.username))


@transaction.atomic
def account_reopen(*, user: User, actor: User) -> None:
    """Take a closing back, before the data is gone."""
    if User.objects.filter(pk=user.pk).exclude(deletion_asked_at=None).update(is_active=True, deletion_asked_at=None):
        note(Deed(actor_id=actor.pk, action="account_reopen", subject=user.username))


def user_share(*, user: User, shares_data: bool) -> None:
    """Keep whether the person lets their battles be part of exported data."""
    user.shares_data = shares_data
    user.save(update_fields=["shares_data"])


def login_link_issue(*, user: User) -> str:
    """An absolute address that logs this person in once, within a day."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return f"{settings.PUBLIC_URL}" + reverse("accounts:link", args=[uid, login_links.make_token(user)])


@transaction.atomic
def login_link_use(*, uid: str, token: str) -> User:
    """Use the link up and return whose it is. Raises LinkExpired for a used, old, wrong or foreign one.

    The token holds the time of the last log-in, so moving that time ends the link. It is moved only from the value
    that was checked: of two requests at once, one gets in.
    """
    user = _user_of(uid)
    if user is None or not login_links.check_token(user, token):
        raise LinkExpired()
    now = timezone.now()
    if not User.objects.filter(pk=user.pk, is_active=True, last_login=user.last_login).update(last_login=now):
        raise LinkExpired()
    user.last_login = now
    return user


def _user_of(uid: str) -> User | None:
    try:
        return User.objects.get(pk=int(urlsafe_base64_decode(uid).decode()), is_active=True)
    except (ValueError, OverflowError, User.DoesNotExist):
        return None
