"""The leaderboard's pages. They show the newest snapshot and compute nothing but the drawings."""

from collections.abc import Iterator
from math import exp
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.models import User
from common.charts.figure import Figure
from leaderboard import selectors, services
from leaderboard.choices import board_choices, method_choices, segment_choices, switch_choices
from leaderboard.errors import BoardMissing, MethodMissing
from leaderboard.figures import FIGURES
from leaderboard.shown import Shown, shown
from leaderboard.table import Axis, headings, in_order, sorting


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    is_staff = cast(User, request.user).is_staff
    asked = shown_or_404(request)
    context = table_context(request, asked) | {
        "boards": board_choices(asked, selectors.boards_listed(is_staff=is_staff)),
        "segments": segment_choices(asked, selectors.segments_of(asked.board)),
        "methods": method_choices(asked),
        "switches": switch_choices(asked),
        "neighbours": neighbours_shown(asked),
        "style": style_shown(asked),
        "figures": Figures(asked),
    }
    return render(request, "leaderboard/index.html", context)


@login_required
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """One's own ranking; it is made by the worker when its owner looks and something has changed."""
    person_id = cast(User, request.user).pk
    asked = shown({}, person_id=person_id)
    if asked.pending or selectors.personal_is_old(asked.snapshot):
        services.personal_request(person_id=person_id)
    return render(request, "leaderboard/mine.html", table_context(request, asked))


@require_safe
def methodology(request: HttpRequest) -> HttpResponse:
    return render(request, "leaderboard/methodology.html", {"shown": shown_or_404(request)})


def shown_or_404(request: HttpRequest) -> Shown:
    """What the address asks for."""
    try:
        return shown(request.GET, is_staff=cast(User, request.user).is_staff)
    except BoardMissing as error:
        raise Http404 from error


class Figures:
    """The charts, made when the template asks for them: it seldom does, for they are kept as long as the snapshot."""

    def __init__(self, asked: Shown) -> None:
        self._asked = asked

    def __iter__(self) -> Iterator[tuple[str, Figure]]:
        return ((name, make(self._asked)) for name, make in FIGURES.items())


def style_shown(asked: Shown) -> list[tuple[str, dict[str, float]]]:
    """By how much each feature of style multiplies the odds of a win, with its interval."""
    found = asked.snapshot.extras.get("methods", {}).get("style_control") if asked.snapshot else None
    effects = found["features"].items() if found else ()
    return [(name, dict(zip(("odds", "lower", "upper"), map(exp, effect), strict=True))) for name, effect in effects]


def neighbours_shown(asked: Shown) -> list[dict[str, Any]]:
    """Each of the best beside the next, with their models; only whom the public may know."""
    if asked.snapshot is None:
        return []
    models = {rating.model_id: rating.model for rating in asked.snapshot.ratings.all()}
    return [
        pair | {"better": models[pair["better"]], "next": models[pair["next"]]}
        for pair in asked.snapshot.extras.get("neighbours", [])
        if pair["better"] in models and pair["next"] in models
    ]


def table_context(request: HttpRequest, asked: Shown) -> dict[str, Any]:
    """What the table of a board needs."""
    missing = ""
    try:
        standings = asked.standings
    except MethodMissing as error:
        missing, standings = str(error), []
    column, descending = sorting(request.GET.get("sort", ""), request.GET.get("direction", ""))
    axis = Axis.over(standings, asked.method)
    rows = [(row, axis.mark(row) if axis else None) for row in in_order(standings, column, descending=descending)]
    left_out = asked.snapshot.left_out if asked.snapshot else {}
    return {
        "shown": asked,
        "snapshot": asked.snapshot,
        "missing": missing,
        "pending": asked.pending,
        "rows": rows,
        "axis": axis,
        "query": urlencode(asked.query),
        "headings": headings(column, asked.query, descending=descending),
        "leader": selectors.certain_leader(row.rating for row in standings),
        "left_out": sum(left_out.values()),
        "reasons": [(reason.replace("_", " "), number) for reason, number in sorted(left_out.items())],
    }
