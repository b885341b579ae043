"""The pages of battles."""

from typing import cast
from uuid import UUID

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from battles import selectors, services, state
from battles.feed import battle_now
from battles.models import Category
from battles.services import REASONS
from common.errors import NotFound
from providers.models import LanguageModel

BATTLES_A_PAGE = 20


@login_required
@require_safe
def new(request: HttpRequest) -> HttpResponse:
    active = list(LanguageModel.objects.active().select_related("endpoint"))
    models = [model for model in active if model.endpoint.is_reachable]
    context = {
        "suggestions": selectors.suggestions(),
        "categories": Category.choices,
        "models": models,
        "available_count": len(models),
        "away_count": len(active) - len(models),
        "limits": {"prompt_max": settings.PROMPT_MAX_CHARACTERS},
    }
    return render(request, "battles/new.html", context)


@login_required
@require_safe
def detail(request: HttpRequest, battle_id: UUID) -> HttpResponse:
    try:
        battle, views = async_to_sync(battle_now)(battle_id=battle_id, viewer=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    context = {
        "battle": battle,
        "state": state.battle_state(battle, views),
        "categories": Category.choices,
        "reasons": REASONS,
        "limits": {"prompt_max": settings.PROMPT_MAX_CHARACTERS},
    }
    return render(request, "battles/detail.html", context)


@login_required
@require_safe
def history(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").replace("\0", "").strip()
    battles = selectors.battles_of(owner=cast(User, request.user), query=query)
    page = Paginator(battles, BATTLES_A_PAGE).get_page(request.GET.get("page"))
    rows = [state.battle_row(battle) for battle in page.object_list]
    context = {"page": page, "rows": rows, "query": query, "deleted": request.GET.get("deleted", "")}
    return render(request, "battles/history.html", context)


@login_required
@require_POST
def delete(request: HttpRequest, battle_id: UUID) -> HttpResponse:
    try:
        services.battle_delete(battle_id=battle_id, owner=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    return redirect(f"{reverse('battles:history')}?deleted={battle_id}")


@login_required
@require_POST
def restore(request: HttpRequest, battle_id: UUID) -> HttpResponse:
    try:
        services.battle_restore(battle_id=battle_id, owner=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    return redirect("battles:history")


@require_safe
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """A battle by its link, for anybody who has it; search engines are asked to stay away."""
    try:
        battle = selectors.battle_shared(token=token)
    except NotFound as error:
        raise Http404 from error
    shown = state.battle_state(battle)
    shown["turns"] = shown["turns"][: battle.shared_turns]
    response = render(request, "battles/shared.html", {"state": shown})
    response.headers["X-Robots-Tag"] = "noindex"
    return response
