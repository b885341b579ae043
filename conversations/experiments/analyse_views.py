"""What a researcher reads in an experiment: distributions, comparisons, and the turns behind them."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.models import User
from common.charts.numbers import MINUS
from common.charts.views import FORMATS, chart_response
from common.csv import csv_lines
from conversations.experiments import selectors
from conversations.experiments.figures import BESIDE, FIGURES, GROUPS
from conversations.experiments.forms import AnalyseForm, CompareForm
from conversations.experiments.looking import beside, comparisons_of, listed, look, summary_row
from conversations.experiments.views import experiment_or_404

EXPERIMENTS_OFFERED = 100
LISTED = 25
ORDERS = ("", "high", "low")


@login_required
@require_safe
def analyse(request: HttpRequest, experiment_id: UUID) -> HttpResponse:
    """A measure by model, scenario or turn, the groups compared, and the turns behind it."""
    experiment = experiment_or_404(request, experiment_id)
    form = AnalyseForm(request.GET or None, grid=experiment.grid)
    chosen = form.chosen()
    looked, sample = look(experiment, **chosen)
    group, order = request.GET.get("group", ""), request.GET.get("order", "")
    page = Paginator(listed(looked, group=group, order=order if order in ORDERS else ""), LISTED).get_page(
        request.GET.get("page")
    )
    turns = selectors.turns_by_id([one.id for one in page.object_list])
    context = {
        "experiment": experiment,
        "form": form,
        "grouped": GROUPS[chosen["by"]],
        "looked": looked,
        "sample": sample,
        "figures": {name: figure for name, make in FIGURES.items() if not (figure := make(looked)).is_empty},
        "comparisons": [(f"{one.first} {MINUS} {one.second}", one) for one in comparisons_of(looked, sample)],
        "query": _query(chosen),
        "listing": _query(chosen | {"group": group, "order": order}),
        "group": group,
        "order": order,
        "page": page,
        "turns": [(one, turns[one.id]) for one in page.object_list if one.id in turns],
    }
    return render(request, "conversations/experiment_analyse.html", context)


@login_required
@require_safe
def chart(request: HttpRequest, experiment_id: UUID, name: str, ending: str) -> HttpResponse:
    """One chart of the page as `svg`, `png`, or its figures as `csv` or `json`."""
    if name not in FIGURES or ending not in FORMATS:
        raise Http404
    experiment = experiment_or_404(request, experiment_id)
    looked, _sample = look(experiment, **AnalyseForm(request.GET or None, grid=experiment.grid).chosen())
    return chart_response(FIGURES[name](looked), ending)


@login_required
@require_safe
def summary(request: HttpRequest, experiment_id: UUID) -> HttpResponse:
    """The table of the page as CSV: a row a group."""
    experiment = experiment_or_404(request, experiment_id)
    chosen = AnalyseForm(request.GET or None, grid=experiment.grid).chosen()
    looked, _sample = look(experiment, **chosen)
    rows = [{chosen["by"]: one.group} | summary_row(one) for one in looked.summaries]
    header = tuple(rows[0]) if rows else (chosen["by"],)
    lines = csv_lines(header, (list(row.values()) for row in rows))
    response = HttpResponse("".join(lines), content_type="text/csv; charset=utf-8")
    name = f"{chosen['measure']}-by-{chosen['by']}.csv"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@login_required
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two experiments, or two scenarios, beside each other."""
    form = _compare_form(request)
    context: dict[str, Any] = {"form": form}
    if form.is_bound and form.is_valid():
        found, samples = beside(
            form.part("first"), form.part("second"), measure=form.cleaned_data["measure"], by=form.cleaned_data["by"]
        )
        context |= {
            "beside": found,
            "samples": list(zip(found.names, samples, strict=True)),
            "figures": {name: figure for name, make in BESIDE.items() if not (figure := make(found)).is_empty},
            "query": _query(form.cleaned_data),
        }
    return render(request, "conversations/experiment_compare.html", context)


@login_required
@require_safe
def compare_chart(request: HttpRequest, name: str, ending: str) -> HttpResponse:
    """One chart of the page that compares."""
    form = _compare_form(request)
    if name not in BESIDE or ending not in FORMATS or not form.is_valid():
        raise Http404
    found, _samples = beside(
        form.part("first"), form.part("second"), measure=form.cleaned_data["measure"], by=form.cleaned_data["by"]
    )
    return chart_response(BESIDE[name](found), ending)


def _compare_form(request: HttpRequest) -> CompareForm:
    """Bound once both are named; before that, with what is named chosen."""
    named = [request.GET.get(side, "") for side in ("first", "second")]
    offered = selectors.experiments_begun(owner=cast(User, request.user), named=named, most=EXPERIMENTS_OFFERED)
    if all(named):
        given = request.GET.copy()
        given.setdefault("measure", "latency_ms")
        return CompareForm(given, experiments=offered)
    return CompareForm(initial=request.GET.dict(), experiments=offered)


def _query(chosen: Mapping[str, str]) -> str:
    return urlencode({name: value for name, value in chosen.items() if value})
