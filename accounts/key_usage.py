"""How many requests a key sends a day. Each is counted in the cache, and the count is written at most once a minute: a
write on every request would make readers wait for SQLite's lock. What was counted since is lost with the cache."""

from collections.abc import Iterable
from datetime import date, timedelta

from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.db.models import F, Sum
from django.utils import timezone

from accounts.models import ApiKey, ApiKeyUse

KEPT_SECONDS = 2 * 24 * 3600
SHOWN_DAYS = 30


def request_counted(apikey: ApiKey) -> None:
    """One more request of today (UTC)."""
    name = _name(apikey.pk, timezone.now().date())
    if not cache.add(name, 1, timeout=KEPT_SECONDS):
        try:
            cache.incr(name)
        except ValueError:  # it was evicted between the two calls
            cache.add(name, 1, timeout=KEPT_SECONDS)


def requests_write(apikey: ApiKey) -> None:
    """Move what was counted to the database: of today, and what was left of yesterday."""
    today = timezone.now().date()
    for day in (today - timedelta(days=1), today):
        name = _name(apikey.pk, day)
        if count := cache.get(name) or 0:
            cache.decr(name, count)
            _add(apikey, day, count)


def requests_of(apikeys: Iterable[ApiKey]) -> dict[int, tuple[int, int]]:
    """By the key's id: requests of today, and of the last SHOWN_DAYS with it."""
    today, ids = timezone.now().date(), [apikey.pk for apikey in apikeys]
    rows = ApiKeyUse.objects.filter(apikey__in=ids)
    of_today = dict(rows.filter(day=today).values_list("apikey", "requests"))
    recent = rows.filter(day__gt=today - timedelta(days=SHOWN_DAYS)).values("apikey").annotate(n=Sum("requests"))
    of_month = dict(recent.values_list("apikey", "n"))
    waiting = cache.get_many([_name(pk, today) for pk in ids])
    found = {}
    for pk in ids:
        more = waiting.get(_name(pk, today), 0)
        found[pk] = of_today.get(pk, 0) + more, of_month.get(pk, 0) + more
    return found


def _name(pk: int, day: date) -> str:
    return f"key_requests:{pk}:{day}"


def _add(apikey: ApiKey, day: date, count: int) -> None:
    rows = ApiKeyUse.objects.filter(apikey=apikey, day=day)
    if rows.update(requests=F("requests") + count):
        return
    try:
        with transaction.atomic():
            ApiKeyUse.objects.create(apikey=apikey, day=day, requests=count)
    except IntegrityError:  # another process was first
        rows.update(requests=F("requests") + count)
