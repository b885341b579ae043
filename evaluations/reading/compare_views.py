"""The pages on which two runs, or two models of one, are compared."""

from typing import Any, cast
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from common.charts.views import FORMATS, chart_response
from common.errors import TourneyError
from evaluations import services
from evaluations.models import RunPair
from evaluations.reading.charts import difference_figure
from evaluations.reading.forms import CompareForm
from evaluations.selectors import runs_of

CHANGES_SHOWN = 20


@login_required
@require_safe
@never_cache
def compare(request: HttpRequest) -> HttpResponse:
    """Two runs, or two models of one: what changed, and whether it is more than chance."""
    runs = runs_of(cast(User, request.user)).order_by("name")
    form = CompareForm(request.GET if "second" in request.GET else None, runs=runs, initial=request.GET.dict())
    context: dict[str, Any] = {"form": form, "runs": runs}
    if form.is_bound and form.is_valid():
        try:
            pair = services.run_pair_get(**form.cleaned_data)
        except TourneyError as error:
            form.add_error(None, str(error))
        else:
            context |= {"pair": pair, "is_waiting": pair.computed_at is None}
            if pair.computed_at is not None:
                query = urlencode({name: request.GET.get(name, "") for name in form.fields})
                context |= {
                    "overall": [row for row in pair.document["differences"] if not row["part"]],
                    "figure": difference_figure(pair.document),
                    "changes": _changes(pair),
                    "query": query,
                }
    return render(request, "evaluations/compare.html", context)


def _changes(pair: RunPair) -> list[dict[str, Any]]:
    """The questions that changed most, with what has their pages show the two models: both, where they are of one
    run."""
    slugs = [dict(run.contenders.values_list("name", "slug")) for run in (pair.first, pair.second)]
    changes = []
    for change in pair.document["changes"][:CHANGES_SHOWN]:
        names = [change["first"], change["second"]]
        shown = [names, names] if pair.first_id == pair.second_id else [[name] for name in names]
        queries = [
            urlencode({"models": [own[name] for name in some if name in own]}, doseq=True)
            for own, some in zip(slugs, shown, strict=True)
        ]
        changes.append(change | {"first_query": queries[0], "second_query": queries[1]})
    return changes


@login_required
@require_safe
def compare_chart(request: HttpRequest, ending: str) -> HttpResponse:
    form = CompareForm(request.GET, runs=runs_of(cast(User, request.user)))
    if ending not in FORMATS or not form.is_valid():
        raise Http404
    try:
        pair = services.run_pair_get(**form.cleaned_data)
    except TourneyError:
        raise Http404 from None
    if pair.computed_at is None:
        raise Http404
    return chart_response(difference_figure(pair.document), ending)
