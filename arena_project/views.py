"""The welcome page, the API's documentation page, and the pages for what went wrong."""

import sys
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import loader
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from common import middleware
from common.api import error_response, is_api
from common.errors import NotAllowed, NotFound
from common.outages import RETRY_AFTER_SECONDS, Unavailable, outage_of
from providers import selectors as providers

# Swagger UI writes style attributes; everything else stays as strict as on every page.
DOCS_POLICY = middleware.POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")


@require_safe
def welcome(request: HttpRequest) -> HttpResponse:
    """What Tourney is, and the next step for whoever looks. What was found on this machine is for staff to enable."""
    context: dict[str, Any] = {}
    if request.user.is_authenticated:
        context = {"models": providers.models_listed().count(), "has_embedded": settings.EMBEDDED_ENGINE}
        if request.user.is_staff:
            context["discoveries"] = providers.discoveries()
    return render(request, "welcome.html", context)


class ApiDocsView(SpectacularSwaggerSplitView):
    """The browsable documentation, its script in an answer of its own, so that nothing runs inline."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        response.headers["Content-Security-Policy"] = DOCS_POLICY
        return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api(request):
        return error_response("malformed", "The request is malformed.", status=400)
    return HttpResponse(loader.render_to_string("400.html"), status=400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api(request):
        return error_response(NotAllowed.code, NotAllowed.message, status=403)
    return render(request, "403.html", status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return render(request, "403_csrf.html", status=403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api(request):
        return error_response(
            NotFound.code, "There is no such address. See /api/v1/docs/ for those there are.", status=404
        )
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Depends on nothing that may be broken: no context, no database. Django calls it while it handles the error."""
    if outage := outage_of(sys.exc_info()[1]):
        return _unavailable(request, outage)
    if is_api(request):
        return error_response(
            "defect", "Something broke on our side. Nothing of yours was lost; try again.", status=500
        )
    return HttpResponse(loader.render_to_string("500.html"), status=500)


def _unavailable(request: HttpRequest, outage: Unavailable) -> HttpResponse:
    response: HttpResponse
    if is_api(request):
        response = error_response(outage.code, str(outage), status=outage.status)
    else:
        response = HttpResponse(loader.render_to_string("503.html", {"outage": outage}), status=outage.status)
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    response.headers["Cache-Control"] = "no-store"
    return response
