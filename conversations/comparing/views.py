"""The pages on which people compare conversations."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from common.errors import NotFound, TourneyError
from common.vote_reasons import reasons_offered, reasons_shown
from conversations.comparing import selectors, services
from conversations.comparing.state import pair_state, scenario_shown
from conversations.errors import NothingToCompare

ROWS = 10


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """What was compared so far; POST leads to the next two, or says that there are none."""
    if request.method == "POST":
        try:
            return redirect("conversations:pair", services.pair_draw(voter=_user(request)).pk)
        except NothingToCompare:
            has_next = False
    else:
        has_next = selectors.may_compare(_user(request))
    compared = selectors.pairs_of(_user(request))
    rows = list(compared[:ROWS])
    readable = selectors.pairs_readable(rows, _user(request))
    context = {
        "rows": [(row, scenario_shown(row), row.pk in readable) for row in rows],
        "count": compared.count(),
        "has_next": has_next,
    }
    return render(request, "conversations/compare.html", context)


@login_required
@never_cache
@require_safe
def detail(request: HttpRequest, pair_id: UUID) -> HttpResponse:
    try:
        pair = selectors.pair_whole(pair_id=pair_id, viewer=_user(request))
    except NotFound as error:
        raise Http404 from error
    context = {
        "state": pair_state(pair),
        "reasons": reasons_offered(),
        "ticked": reasons_shown(pair.reasons),
        "count": selectors.pairs_of(_user(request)).count(),
        "comment_max": services.COMMENT_MAX_CHARACTERS,
    }
    return render(request, "conversations/pair.html", context)


@login_required
@require_POST
def vote(request: HttpRequest, pair_id: UUID) -> HttpResponse:
    try:
        services.pair_vote(
            pair_id=pair_id,
            voter=_user(request),
            choice=request.POST.get("choice", ""),
            reasons=request.POST.getlist("reasons"),
            comment=request.POST.get("comment", ""),
        )
    except NotFound as error:
        raise Http404 from error
    except TourneyError as error:
        messages.error(request, str(error))
    return redirect("conversations:pair", pair_id)


@login_required
@require_POST
def withdraw(request: HttpRequest, pair_id: UUID) -> HttpResponse:
    try:
        services.pair_withdraw(pair_id=pair_id, voter=_user(request))
    except NotFound as error:
        raise Http404 from error
    except TourneyError as error:
        messages.error(request, str(error))
    return redirect("conversations:pair", pair_id)
