"""Pages of imports, for staff: a file is uploaded and checked, and stored when somebody has seen what would come."""

from typing import cast
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Job, User
from accounts.selectors import job_of
from battles.imports.work import (
    BATTLES,
    PREFERENCES,
    battles_import_request,
    import_confirm,
    preferences_import_request,
)
from common.errors import TourneyError
from common.pages import staff_only


class ImportForm(forms.Form):
    kind = forms.ChoiceField(
        label=_("What it holds"),
        choices=[
            (BATTLES, _("Votes in Chatbot Arena's shape: into a board")),
            (PREFERENCES, _("Preferences with their texts (DPO, KTO, ShareGPT): into a prompt set")),
        ],
    )
    slug = forms.SlugField(
        label=_("Board or prompt set"), max_length=50, help_text=_("Letters, digits and hyphens; made if it is new.")
    )
    file = forms.FileField(label=_("File"), help_text=_("JSON, JSON Lines or CSV, perhaps packed with gzip."))

    def check(self, owner: User) -> Job:
        """Have a worker look at the file. Raises ImportInvalid."""
        data = self.cleaned_data
        if data["kind"] == BATTLES:
            return battles_import_request(owner=owner, file=data["file"], board=data["slug"], is_dry_run=True)
        return preferences_import_request(owner=owner, file=data["file"], prompt_set=data["slug"], is_dry_run=True)


@staff_only
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """Upload a file; it is only checked."""
    if request.method != "POST":
        return render(request, "battles/imports.html", {"form": ImportForm()})
    form = ImportForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            return redirect("battles:import_checked", form.check(cast(User, request.user)).pk)
        except TourneyError as error:
            form.add_error("slug", str(error))
    return render(request, "battles/imports.html", {"form": form}, status=400)


@staff_only
@require_safe
def checked(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """How far the check is, then what would come."""
    return _checked(request, job_id)


@staff_only
@require_POST
def confirm(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Store what was checked."""
    owner = cast(User, request.user)
    try:
        import_confirm(owner=owner, checked=job_of(owner, job_id))
    except TourneyError as error:
        return _checked(request, job_id, error=str(error))
    return redirect("accounts:jobs")


def _checked(request: HttpRequest, job_id: UUID, *, error: str = "") -> HttpResponse:
    try:
        job = job_of(cast(User, request.user), job_id)
    except TourneyError as missing:
        return render(request, "404.html", {"message": str(missing)}, status=missing.status)
    context = {"job": job, "error": error, "may_import": job.state == Job.State.DONE and job.parameters.get("dry_run")}
    return render(request, "battles/import_checked.html", context, status=400 if error else 200)
