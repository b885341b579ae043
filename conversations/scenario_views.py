"""The pages of the scenario library."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from common.errors import NotFound, TourneyError
from common.yaml_lines import FILE_MAX_CHARACTERS
from conversations import selectors, services
from conversations.errors import ScenarioInvalid
from conversations.forms import ScenarioForm
from conversations.models import Scenario


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    scenarios = selectors.scenarios_for(cast(User, request.user))
    return render(request, "conversations/scenarios.html", {"scenarios": scenarios})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    user = cast(User, request.user)
    form = ScenarioForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            services.scenario_create(owner=user, values=form.values())
            return redirect("conversations:scenarios")
        except ScenarioInvalid as error:
            _show(form, error)
    return render(request, "conversations/scenario.html", {"form": form}, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """The newest version; to save adds another."""
    user = cast(User, request.user)
    try:
        scenario = selectors.scenario_get(slug=slug, viewer=user)
    except NotFound as error:
        raise Http404 from error
    form = ScenarioForm(request.POST or None, instance=Scenario.objects.get(pk=scenario.pk))
    if request.method == "POST" and form.is_valid():
        try:
            after = services.scenario_edit(slug=slug, editor=user, values=form.values())
            messages.success(request, _("Saved as version %(number)d.") % {"number": after.version})
            return redirect("conversations:scenarios")
        except ScenarioInvalid as error:
            _show(form, error)
        except TourneyError as error:
            form.add_error(None, str(error))
    may_edit = scenario.owner_id == user.pk or user.is_staff
    context = {"form": form, "scenario": scenario, "may_edit": may_edit}
    return render(request, "conversations/scenario.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def copy(request: HttpRequest, slug: str) -> HttpResponse:
    try:
        made = services.scenario_copy(slug=slug, owner=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    return redirect("conversations:scenario", made.slug)


@login_required
@require_POST
def import_file(request: HttpRequest) -> HttpResponse:
    file = request.FILES.get("file")
    try:
        if file is None:
            raise TourneyError(_("Choose a file first."))
        text = file.read(4 * FILE_MAX_CHARACTERS).decode("utf-8-sig", "replace")
        made = services.scenarios_import(owner=cast(User, request.user), text=text)
        messages.success(request, _("%(number)d scenarios were imported.") % {"number": len(made)})
    except TourneyError as error:
        messages.error(request, str(error))
    return redirect("conversations:scenarios")


@login_required
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """All that this person may use, as YAML."""
    text = services.scenarios_yaml(selectors.scenarios_for(cast(User, request.user)))
    headers = {"Content-Disposition": 'attachment; filename="scenarios.yaml"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(text, content_type="application/yaml; charset=utf-8", headers=headers)


def _show(form: ScenarioForm, error: ScenarioInvalid) -> None:
    for field, words in error.fields.items():
        form.add_error(field if field in form.fields else None, words)
