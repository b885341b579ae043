"""The last days for administrators: who came, what was asked, what it cost, what failed. Sums come from the database in
a fixed number of queries, and are kept for a minute."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import admin
from django.core.cache import cache
from django.db.models import Count, Model, Q, QuerySet, Sum
from django.db.models.functions import TruncDay, TruncHour
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _g
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import Job, User
from arena_project.attention import attention_now, disk_now
from arena_project.backlog import backlog
from arena_project.model_figures import models_since
from battles.models import Battle, Preference, Response
from common.charts.bars import Bar, Bars
from common.charts.figure import Axis, Figure
from common.charts.lines import Lines, Point, Series
from conversations.models import Conversation, Turn
from evaluations.models import Run
from providers.models import Endpoint, Engine, LanguageModel, Usage

SPANS = (1, 7, 30)
KEPT_SECONDS = 60
DEAR_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of a span, and US dollars."""

    people_new: int
    people_active: int
    battles: int
    conversations: int
    runs: int
    votes: int
    votes_left_out: int
    answers: int
    failures: int
    tokens_in: int
    tokens_out: int
    cost: float

    @property
    def failed_percent(self) -> float:
        return 100 * self.failures / self.answers if self.answers else 0.0


@dataclass(frozen=True, slots=True)
class EndpointState:
    """An endpoint as it is now; `problem` is empty where all is well. `now` is how the engine of ours behind it is, and
    why, empty where there is none."""

    name: str
    problem: str
    models: int
    resting: int
    now: str = ""


def figures_between(since: datetime, until: datetime | None = None) -> Figures:
    """Of a span, which goes on to this moment unless `until` ends it. Usage is kept by whole days (UTC): of a span that
    goes on, as many days as it has, with today."""
    days, times = {"day__gt": since.astimezone(UTC).date()}, {"created_at__gte": since}
    joined = {"date_joined__gte": since}
    if until is not None:
        days["day__lte"] = until.astimezone(UTC).date()
        times["created_at__lt"] = joined["date_joined__lt"] = until
    used = Usage.objects.filter(**days).aggregate(
        people=Count("user", distinct=True),
        requests=Sum("requests", default=0),
        failures=Sum("failures", default=0),
        tokens_in=Sum("input_tokens", default=0),
        tokens_out=Sum("output_tokens", default=0),
        cost=Sum("cost", default=0),
    )
    votes = Preference.objects.filter(**times).aggregate(all=Count("pk"), left_out=Count("pk", filter=~Q(exclusion="")))
    return Figures(
        people_new=User.objects.filter(**joined).count(),
        people_active=used["people"],
        battles=Battle.objects.filter(**times).count(),
        conversations=Conversation.objects.filter(**times).count(),
        runs=Run.objects.filter(**times).count(),
        votes=votes["all"],
        votes_left_out=votes["left_out"],
        answers=used["requests"],
        failures=used["failures"],
        tokens_in=used["tokens_in"],
        tokens_out=used["tokens_out"],
        cost=float(used["cost"]),
    )


def changes(now: Figures, before: Figures) -> dict[str, str]:
    """By how much per cent a figure differs from the span before; nothing where that had none. Only of what is counted
    by the moment: of usage, today is a part of a day."""
    found = {}
    for name in ("battles", "votes"):
        new, old = float(getattr(now, name)), float(getattr(before, name))
        if old:
            found[name] = f"{100 * (new - old) / old:+.0f} %".replace("-", "\N{MINUS SIGN}")
    return found


def charts_since(since: datetime, *, hourly: bool) -> dict[str, Figure]:
    """By the hour for one day, else by the day (UTC)."""
    battles = _by_time(Battle.objects.filter(created_at__gte=since), since, hourly=hourly)
    votes = _by_time(Preference.objects.filter(created_at__gte=since), since, hourly=hourly)
    rows = Usage.objects.filter(day__gt=since.astimezone(UTC).date()).values("model__name").order_by()
    used = rows.annotate(dollars=Sum("cost"))
    dear = [row for row in sorted(used, key=lambda row: -row["dollars"]) if row["dollars"]][:DEAR_SHOWN]
    return {
        "activity": Lines(
            title=_g("Battles and votes an hour") if hourly else _g("Battles and votes a day"),
            series=(Series(_g("Battles"), battles, key="battles"), Series(_g("Votes"), votes, key="votes")),
            y_axis=Axis(whole=True),
            from_zero=True,
        ),
        "errors": _bars(_g("Failures by kind"), _error_kinds(since), Axis(_g("Answers"), whole=True)),
        "costs": _bars(
            _g("Cost by model"), {row["model__name"]: float(row["dollars"]) for row in dear}, Axis(_g("US dollars"))
        ),
    }


def _bars(title: str, values: Mapping[str, float], axis: Axis) -> Bars:
    bars = tuple(Bar(label=label, values=(float(value),)) for label, value in values.items())
    return Bars(title=title, bars=bars, axis=axis)


def _by_time(rows: QuerySet[Any], since: datetime, *, hourly: bool) -> tuple[Point, ...]:
    """A point for every hour or day, those without anything, too."""
    cut = TruncHour("created_at", tzinfo=UTC) if hourly else TruncDay("created_at", tzinfo=UTC)
    counts = dict(rows.order_by().annotate(at=cut).values("at").annotate(n=Count("pk")).values_list("at", "n"))
    step = timedelta(hours=1) if hourly else timedelta(days=1)
    at = since.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    at = at if hourly else at.replace(hour=0)
    points = []
    while at <= timezone.now():
        points.append(Point(at, float(counts.get(at, 0))))
        at += step
    return tuple(points)


def _error_kinds(since: datetime) -> dict[str, float]:
    """Of battles and conversations, most frequent first."""
    found: dict[str, float] = defaultdict(float)
    for model, created in ((Response, "turn__battle__created_at__gte"), (Turn, "conversation__created_at__gte")):
        rows = _failed(model).filter(**{created: since}).values_list("error_kind").annotate(n=Count("pk"))
        for kind, count in rows:
            found[kind] += count
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _failed(model: type[Model]) -> QuerySet[Any]:
    return model._default_manager.exclude(error_kind="").order_by()


def endpoint_states() -> list[EndpointState]:
    """Those that are switched on, whose trouble comes first."""
    now = timezone.now()
    models: dict[int | None, list[LanguageModel]] = defaultdict(list)
    for model in LanguageModel.objects.filter(status=LanguageModel.Status.ACTIVE):
        models[model.endpoint_id].append(model)
    found = [
        EndpointState(
            name=endpoint.name,
            problem=_problem(endpoint, now),
            models=len(models[endpoint.pk]),
            resting=sum(bool(model.resting_until and model.resting_until > now) for model in models[endpoint.pk]),
            now=_engine_now(endpoint),
        )
        for endpoint in Endpoint.objects.filter(is_enabled=True).select_related("engine")
        if endpoint.has_key or not endpoint.needs_key
    ]
    return sorted(found, key=lambda state: (not state.problem, not state.resting, state.name))


def _problem(endpoint: Endpoint, now: datetime) -> str:
    reasons: Iterable[tuple[bool, str]] = (
        (endpoint.has_outage, _g("Outage")),
        (not endpoint.is_reachable, _g("Does not answer")),
        (bool(endpoint.spent_until and endpoint.spent_until > now), _g("Budget is spent")),
    )
    return next((reason for is_so, reason in reasons if is_so), "")


def _engine_now(endpoint: Endpoint) -> str:
    engine: Engine | None = getattr(endpoint, "engine", None)
    if engine is None:
        return ""
    state = str(engine.get_state_display())
    return f"{state}: {engine.why}" if engine.why else state


def _seen(days: int) -> dict[str, Any]:
    since = timezone.now() - timedelta(days=days)
    figures, before = figures_between(since), figures_between(since - timedelta(days=days), since)
    return {
        "figures": figures,
        "changes": changes(figures, before),
        "models": models_since(since),
        "charts": charts_since(since, hourly=days == 1),
        "jobs_failed": Job.objects.filter(state=Job.State.FAILED, finished_at__gte=since).count(),
    }


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """`?days=` 1, 7 or 30."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, SPANS) else 7
    context = cache.get_or_set(f"overview:{days}", lambda: _seen(days), KEPT_SECONDS) or {}
    endpoints, disk, waiting = endpoint_states(), disk_now(), backlog()
    figures: Figures = context["figures"]
    attention = attention_now(
        endpoints=endpoints,
        answers=figures.answers,
        failed_percent=figures.failed_percent,
        jobs_failed=context["jobs_failed"],
        backlog=waiting,
        disk=disk,
    )
    return render(
        request,
        "overview.html",
        {
            **context,
            "days": days,
            "spans": SPANS,
            "endpoints": endpoints,
            "attention": attention,
            "disk": disk,
            "jobs": Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]).count(),
            "backlog": waiting,
        },
    )


overview = admin.site.admin_view(page)
