"""The leaderboard's pages. They show the newest snapshot and compute nothing but the drawings."""

from hashlib import sha256
from math import exp
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from accounts.models import User
from leaderboard import selectors, services
from leaderboard.choices import board_choices, method_choices, segment_choices, switch_choices
from leaderboard.errors import BoardMissing, MethodMissing
from leaderboard.exclusions import Exclusion
from leaderboard.figures import FIGURES
from leaderboard.methods import certain_leader
from leaderboard.models import Snapshot
from leaderboard.shown import Shown, shown
from leaderboard.table import Axis, headings, in_order, sorting


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    is_staff = cast(User, request.user).is_staff
    asked = shown_or_404(request)
    context = {
        "shown": asked,
        "snapshot": asked.snapshot,
        "pending": asked.pending,
        "query": urlencode(asked.query),
        "boards": board_choices(asked, selectors.boards_listed(is_staff=is_staff)),
        "segments": segment_choices(asked, selectors.segments_of(asked.board)[asked.board.pk]),
        "body": body_of(request, asked) if asked.snapshot and asked.snapshot.comparisons else "",
    }
    return render(request, "leaderboard/index.html", context)


def body_of(request: HttpRequest, asked: Shown) -> SafeString:
    """What a snapshot says, as HTML: the same for everybody, so it is drawn once for each order and language."""
    snapshot = asked.snapshot
    if snapshot is None:
        return mark_safe("")
    column, descending = sorting(request.GET.get("sort", ""), request.GET.get("direction", ""))
    key = kept_under(snapshot, column.key, descending, asked.board.minimum_comparisons, urlencode(asked.query))
    body: str | None = caches["html"].get(key)
    if body is None:
        snapshot.refresh_from_db(fields=["pairs", "extras"])
        context = table_context(request, asked) | {
            "methods": method_choices(asked),
            "switches": switch_choices(asked),
            "neighbours": neighbours_shown(asked),
            "style": style_shown(asked),
            "figures": [],
        }
        if not context["missing"]:
            context["figures"] = [(name, make(asked)) for name, make in FIGURES.items()]
        body = render_to_string("leaderboard/body.html", context)
        caches["html"].set(key, body)
    return mark_safe(body)  # rendered by a template, which has escaped everything


@login_required
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """One's own ranking; it is made by the worker when its owner looks and something has changed."""
    person_id = cast(User, request.user).pk
    asked = shown({}, person_id=person_id)
    if asked.pending or selectors.personal_is_old(asked.snapshot):
        services.personal_request(person_id=person_id)
    return render(request, "leaderboard/mine.html", table_context(request, asked))


def shown_or_404(request: HttpRequest) -> Shown:
    """What the address asks for."""
    try:
        return shown(request.GET, is_staff=cast(User, request.user).is_staff)
    except BoardMissing as error:
        raise Http404 from error


def kept_under(snapshot: Snapshot, *more: str | int) -> str:
    """The name under which what was drawn of a snapshot is kept. A model that is hidden meanwhile changes it."""
    told = [snapshot.pk, snapshot.computed_at.isoformat(), selectors.hidden_models(), get_language(), *more]
    return f"leaderboard:{sha256(repr(told).encode()).hexdigest()}"


def style_shown(asked: Shown) -> list[tuple[str, dict[str, float]]]:
    """By how much each feature of style multiplies the odds of a win, with its interval."""
    found = asked.snapshot.extras.get("methods", {}).get("style_control") if asked.snapshot else None
    effects = found["features"].items() if found else ()
    return [(name, dict(zip(("odds", "lower", "upper"), map(exp, effect), strict=True))) for name, effect in effects]


def neighbours_shown(asked: Shown) -> list[dict[str, Any]]:
    """Each of the best beside the next, with their models; only whom the public may know."""
    if asked.snapshot is None:
        return []
    models = {rating.model_id: rating.model for rating in asked.ratings}
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
    labels = dict(Exclusion.choices)
    return {
        "shown": asked,
        "snapshot": asked.snapshot,
        "missing": missing,
        "pending": asked.pending,
        "rows": rows,
        "axis": axis,
        "query": urlencode(asked.query),
        "headings": headings(column, asked.query, descending=descending),
        "leader": certain_leader(standings),
        "left_out": sum(left_out.values()),
        "reasons": [(labels.get(reason, reason), number) for reason, number in left_out.items()],
    }
