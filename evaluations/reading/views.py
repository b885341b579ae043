"""The pages on which a run's results are read: charts, files, and what its judges lean towards."""

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from common.charts.figure import Figure
from common.charts.views import FORMATS, chart_response
from evaluations import services
from evaluations.models import Run
from evaluations.reading.charts import judging_figures
from evaluations.reading.summaries import Reading, reading_of
from evaluations.reports.figures import FIGURES, Facts, figures_of
from evaluations.reports.html import as_html
from evaluations.reports.tables import as_csv, as_markdown
from evaluations.selectors import run_of_or_404, scores_of, vote_sets_of


def references_of(request: HttpRequest) -> int:
    """The version of the references that was asked for; 0 for the newest."""
    asked = request.GET.get("references", "")
    return int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 7 else 0


def reading_or_404(run: Run, references: int = 0, *, parts: tuple[str, ...] = ()) -> Reading:
    """What is stored of the run. Where it is not yet, a worker is asked for it."""
    reading = reading_of(run, references, parts=parts)
    if reading is None:
        services.summary_want(run)
        raise Http404
    return reading


@login_required
@require_safe
def chart(request: HttpRequest, run_id: UUID, name: str, ending: str) -> HttpResponse:
    """One chart of a run as svg, png, csv or json."""
    run = run_of_or_404(request.user, run_id)
    if ending not in FORMATS:
        raise Http404
    facts = reading_or_404(run, references_of(request)).facts
    return chart_response(_drawn(facts, name), ending)


def _drawn(facts: Facts, name: str) -> Figure:
    if name not in FIGURES:
        raise Http404
    figure = FIGURES[name](facts)
    if figure.is_empty:
        raise Http404
    return figure


@login_required
@require_safe
def table(request: HttpRequest, run_id: UUID, ending: str) -> HttpResponse:
    """The results as json, csv, md, or as an html file for reading."""
    run = run_of_or_404(request.user, run_id)
    references = references_of(request)
    document = reading_or_404(run, references, parts=("document",)).document
    match ending:
        case "json":
            response: HttpResponse = JsonResponse(document, json_dumps_params={"ensure_ascii": False, "indent": 2})
        case "csv":
            response = HttpResponse("".join(as_csv(document)), content_type="text/csv; charset=utf-8")
        case "md":
            response = HttpResponse(as_markdown(document), content_type="text/markdown; charset=utf-8")
        case "html":
            scores = scores_of(run, references=references)
            page = as_html(run, document, figures_of(scores), scores)
            response = HttpResponse(page, content_type="text/html; charset=utf-8")
        case _:
            raise Http404
    response.headers["Content-Disposition"] = f'attachment; filename="{run.name}.{ending}"'
    return response


@login_required
@require_safe
@never_cache
def agreement(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """How the run's judges agree with each other and with people, and what they lean towards."""
    run = run_of_or_404(request.user, run_id)
    reading = reading_of(run)
    if reading is None:
        services.summary_want(run)
    context = {
        "run": run,
        "report": reading.summary.agreement[""] if reading else {},
        "parts": _parts(reading.summary.agreement) if reading else {},
        "figures": judging_figures(reading) if reading else {},
        "address": reverse("evaluations:agreement", args=(run.pk,)),
        "vote_sets": vote_sets_of(cast(User, request.user)).filter(run=run),
    }
    return render(request, "evaluations/agreement.html", context)


def _parts(report: dict[str, Any]) -> dict[str, list[tuple[str, Any]]]:
    """The report's parts by what they are parts of: categories, then turns."""
    found: dict[str, list[tuple[str, Any]]] = {"category": [], "turn": []}
    for name, part in report.items():
        by, _, value = name.partition(":")
        if by in found:
            found[by].append((value, part))
    return found


@login_required
@require_safe
def agreement_chart(request: HttpRequest, run_id: UUID, name: str, ending: str) -> HttpResponse:
    run = run_of_or_404(request.user, run_id)
    figures = judging_figures(reading_or_404(run))
    if ending not in FORMATS or name not in figures:
        raise Http404
    return chart_response(figures[name], ending)
