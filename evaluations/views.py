"""The pages of evaluations: runs, a new one, one run as it fills in, and its answers question by question."""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.cache import caches
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Job, User
from common.errors import TourneyError
from evaluations import services
from evaluations.estimating import Estimate, estimate
from evaluations.forms import RunForm
from evaluations.matrix import matrix, matrix_stored
from evaluations.models import Run, Summary
from evaluations.planning import chosen_questions, is_complete, plan_of
from evaluations.reading.summaries import Reading, head_of, means_by_version, reading_of, versions_of
from evaluations.reading.views import references_of
from evaluations.reports.figures import figures_from
from evaluations.selectors import is_under_way, newest_reference, run_of_or_404, runs_of

RUNS_A_PAGE = 25
KEPT_SECONDS = 86_400
NO_PARTS = ("run_id",)
# The matrix below is the chart of questions, and that of judges has a page of its own.
ON_PAGE = ("overall", "radar", "categories", "turns", "spread")


def _administrator(request: HttpRequest) -> User:
    """Only administrators spend the server's money on whole runs."""
    user = cast(User, request.user)
    if not user.is_staff:
        raise PermissionDenied
    return user


@login_required
@require_safe
@never_cache
def index(request: HttpRequest) -> HttpResponse:
    page = Paginator(runs_of(cast(User, request.user)), RUNS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "evaluations/index.html", {"page": page, "runs": page.object_list})


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """POST with `start` makes the run and has it begun; without it, it only says what the run would take."""
    owner = _administrator(request)
    form = RunForm(request.POST or None, initial=request.GET.dict())
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            if "start" in request.POST:
                with transaction.atomic():
                    run = services.run_start(run=services.run_create(owner=owner, **form.wanted()))
                return redirect("evaluations:detail", run.pk)
            context["estimate"] = _estimated(owner, form)
        except TourneyError as error:
            form.add_error(None, str(error))
    return render(request, "evaluations/new.html", context, status=400 if form.errors else 200)


def _estimated(owner: User, form: RunForm) -> Estimate:
    """The run is made and dropped again: so it is what a run would be."""
    with transaction.atomic():
        found = estimate(plan_of(services.run_create(owner=owner, **form.wanted())))
        transaction.set_rollback(True)
    return found


@login_required
@require_safe
@never_cache
def detail(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """How far a run is; once it has ended, what is stored of its results."""
    run = run_of_or_404(request.user, run_id)
    is_busy, references = is_under_way(run), references_of(request)
    reading = None if is_busy else reading_of(run, references, parts=NO_PARTS) or reading_of(run, parts=NO_PARTS)
    if not is_busy and reading is None:
        services.summary_want(run)
    job = Job.objects.filter(pk=run.job_id).first() if run.job_id else None
    context: dict[str, Any] = {
        "run": run,
        "is_busy": is_busy,
        "is_waiting": not is_busy and reading is None,
        "job": job,
        "rate": _rate(job) if is_busy and job else None,
        "newest": newest_reference(run) if request.user.is_staff else 0,
        "is_complete": request.user.is_staff and not is_busy and is_complete(run),
    }
    if reading is None:
        context |= {"head": head_of(run, None), "matrix": matrix(run, set(chosen_questions(run)))}
    else:
        head, body = _kept(run, reading)
        query = f"references={reading.summary.references}" if reading.summary.references else ""
        context |= {"head": head, "body": body, "query": query, "has_files": True}
    return render(request, "evaluations/detail.html", context)


def _kept(run: Run, reading: Reading) -> tuple[dict[str, Any], SafeString]:
    """What stands above the run, and its tables and charts: drawn once for each summary and language."""
    summary = reading.summary
    key = f"evaluation:{summary.pk}:{summary.computed_at.timestamp()}:{run.status}:{get_language()}"
    kept = caches["html"].get(key)
    if kept is None:
        reading = Reading(run, Summary.objects.get(pk=summary.pk))
        body = render_to_string("evaluations/results.html", {"run": run, **_shown(run, reading)})
        kept = head_of(run, reading.document), body
        caches["html"].set(key, kept, KEPT_SECONDS)
    return kept[0], mark_safe(kept[1])  # a template's own output


def _rate(job: Job) -> float | None:
    """Answers and judgments a minute since it began."""
    seconds = (timezone.now() - job.started_at).total_seconds() if job.started_at else 0.0
    return 60 * job.done / seconds if seconds >= 1 else None


def _shown(run: Run, reading: Reading) -> dict[str, Any]:
    """What the page of a run that is over shows."""
    document, facts = reading.document, reading.facts
    versions = versions_of(run)
    return {
        "document": document,
        "references": reading.summary.references,
        "versions": versions,
        "by_version": means_by_version(run) if versions else [],
        "query": f"references={reading.summary.references}" if reading.summary.references else "",
        "matrix": matrix_stored(run, reading),
        "figures": {name: one for name, one in figures_from(facts).items() if name in ON_PAGE} if facts.lines else {},
        "charts": reverse("evaluations:chart", args=(run.pk, "x", "svg")).removesuffix("x.svg"),
        "categories": list(facts.categories),
        "turns": [str(turn) for turn in facts.turns],
        "has_games": reading.has_games,
    }


@login_required
@require_POST
def act(request: HttpRequest, run_id: UUID, action: str) -> HttpResponseRedirect:
    """Cancel a run, resume it, ask again what failed, or judge again by the newest references."""
    _administrator(request)
    run = run_of_or_404(request.user, run_id)
    try:
        with transaction.atomic():
            match action:
                case "cancel":
                    services.run_cancel(run=run)
                case "rejudge" if run.status != Run.Status.IMPORTED:
                    services.run_rejudge(run=run, version=newest_reference(run))
                    services.run_start(run=run)
                case "resume" if run.status != Run.Status.IMPORTED:
                    services.run_start(run=run)
                case "retry" if run.status != Run.Status.IMPORTED:
                    services.run_clear_failed(run=run)
                    services.run_start(run=run)
                case _:
                    raise Http404
    except TourneyError as error:
        messages.error(request, str(error))
    return redirect("evaluations:detail", run.pk)
