"""The leaderboard page. It shows the newest snapshot and computes nothing but the drawing."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard import selectors
from leaderboard.table import Axis, headings, in_order, sorting


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    snapshot = selectors.leaderboard_latest()
    ratings = list(snapshot.ratings.all()) if snapshot else []
    column, descending = sorting(request.GET.get("sort", ""), request.GET.get("direction", ""))
    axis = Axis.over(ratings)
    rows = [
        (rating, axis.mark(rating) if axis else None) for rating in in_order(ratings, column, descending=descending)
    ]
    context = {
        "snapshot": snapshot,
        "pending": selectors.pending_count(snapshot),
        "rows": rows,
        "axis": axis,
        "headings": headings(column, descending=descending),
        "leader": selectors.certain_leader(ratings),
        "rated": sum(rating.rank is not None for rating in ratings),
    }
    return render(request, "leaderboard/index.html", context)
