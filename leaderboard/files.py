"""The leaderboard as files: the table, the charts, and a badge for a page of one's own."""

from typing import cast
from urllib.parse import urlencode

from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from common.charts.views import FORMATS, chart_response
from common.csv import csv_lines
from leaderboard.api import leaderboard_out
from leaderboard.figures import FIGURES
from leaderboard.views import kept_under, shown_or_404

CACHED_SECONDS = 300
CHARTS_KEPT_SECONDS = 86_400


@require_safe
def table(request: HttpRequest, ending: str) -> HttpResponse:
    """The rows as `csv`, or as `json` in the API's shape."""
    document = leaderboard_out(shown_or_404(request))
    if ending == "json":
        return JsonResponse(document)
    if ending != "csv":
        raise Http404
    rows = [{**row, "model": row["model"]["slug"], "name": row["model"]["name"]} for row in document["results"]]
    header = ["model", "name", *(name for name in (rows[0] if rows else {}) if name not in ("model", "name"))]
    lines = csv_lines(header, ([row[name] for name in header] for row in rows))
    response = HttpResponse("".join(lines), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = 'attachment; filename="leaderboard.csv"'
    return response


@require_safe
def chart(request: HttpRequest, name: str, ending: str) -> HttpResponse:
    """One chart of the page as `svg`, `png`, or its figures as `csv` or `json`."""
    if name not in FIGURES or ending not in FORMATS:
        raise Http404
    asked = shown_or_404(request)
    if asked.snapshot is None:
        return chart_response(FIGURES[name](asked), ending)
    # A snapshot never changes, and pixels of many cells take seconds.
    key = kept_under(asked.snapshot, f"{name}.{ending}", urlencode(asked.query))
    return cast(
        HttpResponse,
        cache.get_or_set(key, lambda: chart_response(FIGURES[name](asked), ending), CHARTS_KEPT_SECONDS),
    )


@require_safe
def badge(request: HttpRequest, slug: str) -> HttpResponse:
    """A model's place and rating as a small picture; anybody may show it anywhere."""
    asked = shown_or_404(request)
    row = next((row for row in asked.standings if row.rating.model.slug == slug), None)
    if row is None:
        raise Http404
    response = render(
        request, "leaderboard/badge.svg", {"row": row, "scale": asked.method.scale}, content_type="image/svg+xml"
    )
    # What only administrators may see must not be kept for others on the way.
    who = "public" if asked.board.is_public else "private"
    response.headers["Cache-Control"] = f"{who}, max-age={CACHED_SECONDS}"
    return response
