"""The page of exports: filters, how many votes they leave, a download at once or as a job."""

from typing import cast
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from battles.exports.errors import ExportInvalid
from battles.exports.export import votes_estimated
from battles.exports.forms import ExportForm
from battles.exports.work import export_request


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """GET counts where filters were given; POST has a job make the file."""
    if request.method == "POST":
        return _make(request)
    form = ExportForm(request.GET or None, viewer=cast(User, request.user))
    return render(request, "battles/exports.html", {"form": form} | _counted(form))


def _make(request: HttpRequest) -> HttpResponse:
    form = ExportForm(request.POST, viewer=cast(User, request.user))
    if form.is_valid():
        try:
            export_request(owner=form.viewer, selection=form.selection(), **form.wanted())
            return redirect("accounts:jobs")
        except ExportInvalid as error:
            form.add_error(None, str(error))
    return render(request, "battles/exports.html", {"form": form}, status=400)


def _counted(form: ExportForm) -> dict[str, object]:
    """How much there is, and where the file is; nothing where the filters are not valid."""
    if not form.is_valid():
        return {}
    wanted = form.wanted()
    try:
        votes, has_more = votes_estimated(kind=wanted["kind"], selection=form.selection())
    except ExportInvalid as error:
        form.add_error(None, str(error))
        return {}
    address = f"{reverse('api_export_' + wanted['kind'])}?{urlencode(form.query())}"
    return {"votes": votes, "has_more": has_more, "download": address}
