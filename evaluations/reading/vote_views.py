"""The pages on which judges are held against people: files of votes, and the votes on our own battles."""

from typing import Any, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from common.charts.views import FORMATS, chart_response
from common.errors import TourneyError
from evaluations import services
from evaluations.models import VoteSet
from evaluations.reading.battles import battle_report
from evaluations.reading.charts import VOTE_FIGURES
from evaluations.reading.forms import VotesForm
from evaluations.reading.votes import FILE_MAX_BYTES
from evaluations.selectors import runs_of, vote_sets_of


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def votes(request: HttpRequest) -> HttpResponse:
    """Files of people's votes; administrators import more."""
    user = cast(User, request.user)
    form = VotesForm(request.POST or None, request.FILES or None, runs=runs_of(user))
    if request.method == "POST":
        if not user.is_staff:
            raise PermissionDenied
        if form.is_valid():
            file = form.cleaned_data["file"]
            try:
                made = services.votes_import(
                    owner=user, name=form.cleaned_data["name"], data=file.read(FILE_MAX_BYTES + 1), file_name=file.name,
                    run=form.cleaned_data["run"],
                )  # fmt: skip
                return redirect("evaluations:vote_set", made.pk)
            except TourneyError as error:
                form.add_error("file", str(error))
    context = {"form": form, "vote_sets": vote_sets_of(user)}
    return render(request, "evaluations/votes.html", context, status=400 if form.errors else 200)


@login_required
@require_safe
@never_cache
def vote_set(request: HttpRequest, vote_set_id: UUID) -> HttpResponse:
    """How far the judges of a file agree with its people."""
    found = _vote_set(request, vote_set_id)
    address = reverse("evaluations:vote_set", args=(found.pk,))
    context = {"vote_set": found, **_reported(found.report, address)}
    return render(request, "evaluations/vote_set.html", context)


@login_required
@require_safe
def vote_set_chart(request: HttpRequest, vote_set_id: UUID, name: str, ending: str) -> HttpResponse:
    found = _vote_set(request, vote_set_id)
    if ending not in FORMATS or name not in VOTE_FIGURES:
        raise Http404
    return chart_response(VOTE_FIGURES[name](found.report), ending)


@login_required
@require_POST
def vote_set_delete(request: HttpRequest, vote_set_id: UUID) -> HttpResponse:
    """Forget a file's votes: its owner and administrators may."""
    services.vote_set_delete(vote_set=_vote_set(request, vote_set_id))
    return redirect("evaluations:votes")


def _vote_set(request: HttpRequest, vote_set_id: UUID) -> VoteSet:
    visible: QuerySet[VoteSet] = vote_sets_of(cast(User, request.user))
    return get_object_or_404(visible, pk=vote_set_id)


@login_required
@require_safe
@never_cache
def battles(request: HttpRequest) -> HttpResponse:
    """How far judges agree with the people who voted on our own battles."""
    found = battle_report()
    shown = _reported(found.report, reverse("evaluations:battles")) if found else {}
    return render(request, "evaluations/battles.html", {"found": found, **shown})


@login_required
@require_safe
def battles_chart(request: HttpRequest, name: str, ending: str) -> HttpResponse:
    found = battle_report()
    if ending not in FORMATS or name not in VOTE_FIGURES or found is None:
        raise Http404
    return chart_response(VOTE_FIGURES[name](found.report), ending)


def _reported(report: dict[str, Any], address: str) -> dict[str, Any]:
    rows = report["rows"]
    return {
        "report": report,
        "overall": [row for row in rows if not row["by"]],
        "by": {by: [row for row in rows if row["by"] == by] for by in ("turn", "category")},
        "figures": {name: draw(report) for name, draw in VOTE_FIGURES.items()},
        "address": address,
    }
