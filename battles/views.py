"""The pages of battles."""

from typing import Any, cast
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
from accounts.proofs import VOTE, proof_address
from battles import selectors, services, state
from battles.feed import battle_now
from battles.models import Category
from common.errors import NotFound
from common.vote_reasons import reasons_offered
from providers.models import LanguageModel
from providers.usage import budget_of

BATTLES_A_PAGE = 20
IMAGE_KEPT_SECONDS = 365 * 24 * 3600
# More would not fit on a page; programs may ask more.
LINEUP_MAX = 8


def _limits() -> dict[str, int | bool]:
    """What a box for a prompt must know: characters, images, bytes, and whether a battle with images is possible."""
    return {
        "prompt_max": settings.PROMPT_MAX_CHARACTERS,
        "images": services.IMAGES_A_TURN,
        "image_bytes": services.image_bytes_max(),
        "sees": LanguageModel.objects.active().filter(sees_images=True)[:2].count() == 2,
    }


def _new_context() -> dict[str, Any]:
    """What the pages before a battle and a line-up both show."""
    active = list(LanguageModel.objects.active().select_related("endpoint"))
    models = [model for model in active if model.is_available]
    return {
        "suggestions": selectors.suggestions(),
        "categories": Category.choices,
        "models": models,
        "available_count": len(models),
        "away_count": len(active) - len(models),
        "limits": _limits(),
    }


@login_required
@require_safe
def new(request: HttpRequest) -> HttpResponse:
    budget = budget_of(cast(User, request.user).pk)
    context = {**_new_context(), "pools": selectors.pools_listed(), "budget": budget}
    return render(request, "battles/new.html", context)


@login_required
@require_safe
def lineup(request: HttpRequest) -> HttpResponse:
    return render(request, "battles/lineup.html", {**_new_context(), "lineup_max": LINEUP_MAX})


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
        "reasons": reasons_offered(),
        "proof_address": proof_address(VOTE),
        "limits": _limits(),
        "budget": budget_of(cast(User, request.user).pk),
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
def image(request: HttpRequest, image_id: UUID) -> HttpResponse:
    """An image of a prompt, for whoever may see its battle. It never changes, so browsers keep it."""
    try:
        row = selectors.image_seen(image_id=image_id, viewer=cast(User, request.user))
        with row.file.open("rb") as file:
            response = HttpResponse(file.read(), content_type=row.media_type)
    except (NotFound, FileNotFoundError) as error:
        raise Http404 from error
    response.headers["Cache-Control"] = f"private, max-age={IMAGE_KEPT_SECONDS}, immutable"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers["X-Robots-Tag"] = "noindex"
    return response


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
