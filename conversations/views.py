"""The pages of conversations."""

from typing import cast
from uuid import UUID

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from common.errors import NotFound
from conversations import driving, selectors, services, state
from conversations.analysis_texts import result_parts
from conversations.errors import FileInvalid
from conversations.feed import conversation_now
from conversations.figures import measure_chart, measure_rows
from conversations.files.formats import FORMATS
from conversations.files.importing import FILE_MAX_BYTES, conversations_import
from conversations.making import LINE_MAX_CHARACTERS
from conversations.scenarios import FIELDS
from providers.models import LanguageModel
from providers.usage import budget_of

CONVERSATIONS_A_PAGE = 20


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").replace("\0", "").strip()
    found = selectors.conversations_of(owner=cast(User, request.user), query=query)
    page = Paginator(found, CONVERSATIONS_A_PAGE).get_page(request.GET.get("page"))
    rows = [state.conversation_row(one) for one in page.object_list]
    return render(request, "conversations/index.html", {"page": page, "rows": rows, "query": query})


@login_required
@require_POST
def import_file(request: HttpRequest) -> HttpResponse:
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, _("Choose a file first."))
        return redirect("conversations:index")
    try:
        made = conversations_import(owner=cast(User, request.user), data=file.read(FILE_MAX_BYTES + 1))
    except FileInvalid as error:
        messages.error(request, str(error))
        return redirect("conversations:index")
    if len(made) == 1:
        return redirect("conversations:detail", made[0].pk)
    messages.success(request, _("%(number)d conversations were imported.") % {"number": len(made)})
    return redirect("conversations:index")


@login_required
@require_safe
def new(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    active = list(LanguageModel.objects.active().select_related("endpoint"))
    models = [model for model in active if model.is_available]
    context = {
        "models": models,
        "away_count": len(active) - len(models),
        "scenarios": [
            {field: getattr(one, field) for field in ("slug", *FIELDS)} for one in selectors.scenarios_for(user)
        ],
        "turns_max": settings.CONVERSATION_TURNS_MAX,
        "seed_max": LINE_MAX_CHARACTERS,
        "budget": budget_of(user.pk),
    }
    return render(request, "conversations/new.html", context)


@login_required
@require_safe
def detail(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    user = cast(User, request.user)
    try:
        conversation, views = async_to_sync(conversation_now)(conversation_id=conversation_id, viewer=user)
    except NotFound as error:
        raise Http404 from error
    context = {
        "conversation": conversation,
        "state": state.conversation_state(conversation, views),
        "analysts": list(LanguageModel.objects.available().select_related("endpoint")),
        "analyst": selectors.analyst_default(),
        "turns_max": settings.CONVERSATION_TURNS_MAX,
        "formats": list(FORMATS),
        "budget": budget_of(user.pk),
    }
    return render(request, "conversations/detail.html", context)


@login_required
@require_safe
def measures(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """What can be counted, as a piece of the conversation's page."""
    try:
        conversation = selectors.conversation_whole(conversation_id=conversation_id, viewer=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    found = selectors.measures_of(conversation)
    context = {"rows": measure_rows(found), "chart": measure_chart(found), "agents": conversation.agents.all()}
    return render(request, "conversations/measures.html", context)


@login_required
@require_safe
def analyses(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """What several models read in a conversation, part by part beside each other."""
    try:
        conversation = selectors.conversation_whole(conversation_id=conversation_id, viewer=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    read = [one for one in conversation.analyses.all() if one.result]
    context = {
        "conversation": conversation,
        "title": state.title_of(conversation),
        "analyses": read,
        "parts": result_parts([one.result or {} for one in read]),
    }
    return render(request, "conversations/analyses.html", context)


@login_required
@require_POST
def delete(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    owner = cast(User, request.user)
    try:
        live = services.conversation_stop(conversation_id=conversation_id, owner=owner)
        async_to_sync(driving.stop)(live)
        services.conversation_delete(conversation_id=conversation_id, owner=owner)
    except NotFound as error:
        raise Http404 from error
    return redirect("conversations:index")
