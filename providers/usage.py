"""What follows from a generation that has ended: it is added up, its model rests after failures, budgets run out, and
its answer may serve again. Called through the services."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.db import models, transaction
from django.db.models import F, Sum
from django.utils import timezone
from django.utils.text import slugify

from providers.adapters.base import ErrorKind
from providers.answer_store import answer_keep
from providers.errors import BudgetSpent, EndpointBudgetSpent
from providers.live_types import GenerationRecord
from providers.models import Endpoint, GeneratedText, LanguageModel, Usage

log = logging.getLogger(__name__)

# The failures that say something about the model, and nothing about the prompt.
BREAKING = frozenset(
    {ErrorKind.AUTH, ErrorKind.CONNECTION, ErrorKind.RATE_LIMIT, ErrorKind.TIMEOUT, ErrorKind.UPSTREAM}
)
FAILURES_TO_REST = 5
REST_FIRST = timedelta(minutes=1)
REST_MAX = timedelta(hours=1)
WARN_FROM_SHARE = Decimal("0.8")
WARNED_FOR_SECONDS = 31 * 24 * 3600


@transaction.atomic
def generation_note(*, model_id: int, user_id: int | None, record: GenerationRecord) -> None:
    """Add up a generation that has ended. Nothing for one that is still being written."""
    generations_note(user_id=user_id, ended=[(model_id, record)])


@transaction.atomic
def generations_note(*, user_id: int | None, ended: Iterable[tuple[int, GenerationRecord]]) -> None:
    """The same for many of one person, in as few statements as for one of each model."""
    of_model: dict[int, list[GenerationRecord]] = {}
    for model_id, record in ended:
        if record.status not in GeneratedText.LIVE:
            of_model.setdefault(model_id, []).append(record)
    for model_id, records in sorted(of_model.items()):  # always in this order, so that two never wait for each other
        _add(model_id, user_id, records)
        asked = [record for record in records if not record.is_cached]
        for record in _telling(asked):
            _rest(model_id, record)
        _spend_and_keep(model_id, user_id, asked)


def _telling(records: list[GenerationRecord]) -> list[GenerationRecord]:
    """Those that say whether the model fails: of nothing but successes, one says it all."""
    return records[-1:] if all(record.status == GeneratedText.Status.FINISHED for record in records) else records


def _add(model_id: int, user_id: int | None, records: list[GenerationRecord]) -> None:
    of_day: dict[date, list[GenerationRecord]] = {}
    for record in records:
        of_day.setdefault((record.finished_at or timezone.now()).astimezone(UTC).date(), []).append(record)
    for day, ended in of_day.items():
        asked = [record for record in ended if not record.is_cached]
        Usage.objects.filter(pk=_row(day, model_id, user_id)).update(
            requests=F("requests") + len(ended),
            failures=F("failures") + sum(record.status == GeneratedText.Status.FAILED for record in ended),
            cached=F("cached") + len(ended) - len(asked),
            input_tokens=F("input_tokens") + sum(record.input_tokens or 0 for record in asked),
            output_tokens=F("output_tokens") + sum(record.output_tokens or 0 for record in asked),
            cost=F("cost") + sum((record.cost or Decimal(0) for record in ended), Decimal(0)),
        )


def _row(day: date, model_id: int, user_id: int | None) -> int:
    """The row to add to. Where nobody asked there may be several, since the constraint takes each NULL for another
    value (people who were deleted leave such rows behind, too): any of them will do."""
    if user_id is not None:
        return Usage.objects.get_or_create(day=day, model_id=model_id, user_id=user_id)[0].pk
    row = Usage.objects.filter(day=day, model_id=model_id, user=None).order_by("pk").first()
    return (row or Usage.objects.create(day=day, model_id=model_id)).pk


def _rest(model_id: int, record: GenerationRecord) -> None:
    """After several failures in a row a model is not drawn for a while, twice as long each time; then the next draw is
    its trial. What was asked before a rest began says nothing new."""
    model = LanguageModel.objects.filter(pk=model_id)
    if record.status in (GeneratedText.Status.FINISHED, GeneratedText.Status.STOPPED):
        if record.first_token_ms is not None:
            model.filter(failures_in_row__gt=0).update(failures_in_row=0, resting_until=None)
        return
    if record.status != GeneratedText.Status.FAILED or record.error_kind not in BREAKING:
        return
    failures, until = model.select_for_update().values_list("failures_in_row", "resting_until").get()
    if until and record.started_at and record.started_at < until - REST_FIRST:
        return
    failures += 1
    if failures >= FAILURES_TO_REST:
        rest = min(REST_MAX, REST_FIRST * 2 ** min(failures - FAILURES_TO_REST, 10))
        until = timezone.now() + rest
        log.warning(
            "Model %d failed %d times in a row (%s) and rests for %s", model_id, failures, record.error_kind, rest
        )
    model.update(failures_in_row=failures, resting_until=until)


def models_try(*, models: Iterable[LanguageModel]) -> None:
    """One request finds out whether a model that has rested answers again: until that is known, for as long as a first
    rest, the model is not drawn for others."""
    tired = [model.pk for model in models if model.failures_in_row >= FAILURES_TO_REST]
    if tired:
        now = timezone.now()
        LanguageModel.objects.filter(pk__in=tired, resting_until__lte=now).update(resting_until=now + REST_FIRST)


def _spend_and_keep(model_id: int, user_id: int | None, records: list[GenerationRecord]) -> None:
    endpoint = Endpoint.objects.filter(language_models=model_id).first()
    if endpoint is None:
        return
    if endpoint.monthly_budget is not None and any(record.cost for record in records):
        endpoint_budget_refresh(endpoint=endpoint)
    if endpoint.cache_seconds:
        for record in records:
            answer_keep(model_id=model_id, user_id=user_id, record=record)


def endpoint_budget_refresh(*, endpoint: Endpoint) -> None:
    """Note whether the endpoint's budget of this month is spent: then its models are not asked until the next."""
    now, limit = timezone.now(), endpoint.monthly_budget
    spent = Decimal(0) if limit is None else spent_this_month(Usage.objects.filter(model__endpoint=endpoint))
    until = month_after(now) if limit is not None and spent >= limit else None
    if until != endpoint.spent_until:
        Endpoint.objects.filter(pk=endpoint.pk).update(spent_until=until)
        if until:
            log.warning("The budget of endpoint %s is spent until %s", endpoint.slug, until.date())
    elif limit is not None and not until and spent >= limit * WARN_FROM_SHARE:
        _warn_once(f"Endpoint {endpoint.slug}", spent, limit, now)


def _warn_once(who: str, spent: Decimal, limit: Decimal, now: datetime) -> None:
    """Once a month; once more where the cache was emptied meanwhile."""
    if cache.add(f"budget:{slugify(who)}:{now:%Y-%m}", True, timeout=WARNED_FOR_SECONDS):
        log.warning("%s has spent %.2f of %.2f US dollars this month", who, spent, limit)


def budget_check(*, user_id: int, contenders: Iterable[LanguageModel]) -> None:
    """Refuse before anything is asked. Raises BudgetSpent where the person's budget is spent, EndpointBudgetSpent where
    that of an endpoint of `contenders` is. Answers that are under way at this moment are not counted yet."""
    now = timezone.now()
    budget = budget_of(user_id)
    if budget and budget.is_spent:
        raise BudgetSpent(
            f"Your budget of {budget.limit:.2f} US dollars a month is spent. "
            f"You can ask again from {budget.resets_at.day} {budget.resets_at:%B}, or when an administrator raises it."
        )
    if budget and budget.is_low:
        _warn_once(f"Person {user_id}", budget.spent, budget.limit, now)
    if any(model.endpoint and model.endpoint.spent_until and model.endpoint.spent_until > now for model in contenders):
        raise EndpointBudgetSpent


@dataclass(frozen=True, slots=True)
class Budget:
    """What one person may spend in this calendar month (UTC), in US dollars."""

    limit: Decimal
    spent: Decimal
    resets_at: datetime

    @property
    def is_spent(self) -> bool:
        return self.spent >= self.limit

    @property
    def is_low(self) -> bool:
        return self.spent >= self.limit * WARN_FROM_SHARE


def budget_of(user_id: int) -> Budget | None:
    """A person's budget of this month; None where there is no limit."""
    limit = user_budget(user_id)
    if limit is None:
        return None
    return Budget(limit, spent_this_month(Usage.objects.filter(user=user_id)), month_after(timezone.now()))


def user_budget(user_id: int) -> Decimal | None:
    """US dollars a month: the person's own, else everybody's; None for no limit."""
    own: Decimal | None = get_user_model().objects.values_list("monthly_budget", flat=True).get(pk=user_id)
    return settings.USER_MONTHLY_BUDGET if own is None else own


def spent_this_month(rows: models.QuerySet[Usage]) -> Decimal:
    """US dollars since the first of this month, in UTC."""
    first = timezone.now().astimezone(UTC).date().replace(day=1)
    return rows.filter(day__gte=first).aggregate(sum=Sum("cost"))["sum"] or Decimal(0)


def month_after(moment: datetime) -> datetime:
    """The beginning of the next month, in UTC."""
    first = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (first + timedelta(days=32)).replace(day=1)
