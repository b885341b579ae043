"""Pages on which administrators bring question sets in and take them away: a file is uploaded and looked at, and stored
when somebody has seen what would come."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.errors import JobNotFound
from accounts.models import Job, User
from accounts.selectors import job_of
from common.errors import TourneyError
from common.pages import staff_only
from evaluations import services
from evaluations.models import QuestionSet
from evaluations.questions.uploads import FILE_MAX_BYTES, KIND


class SetImportForm(forms.Form):
    file = forms.FileField(
        label=_("File"),
        help_text=_("YAML, JSON, JSON Lines or CSV with a row a question, or FastChat's question or reference files."),
    )
    slug = forms.SlugField(
        label=_("Question set"), max_length=50, help_text=_("Letters, digits and hyphens; made if it is new.")
    )
    name = forms.CharField(
        label=_("Name"), max_length=100, required=False, help_text=_("What the set is called on the pages.")
    )
    licence = forms.CharField(
        label=_("Licence"), max_length=100, required=False, help_text=_("For example CC-BY-4.0. It stays with the set.")
    )
    source = forms.CharField(
        label=_("Source"), max_length=500, required=False, help_text=_("Where the questions come from: an address.")
    )
    description = forms.CharField(label=_("About"), required=False, widget=forms.Textarea(attrs={"rows": 2}))

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > FILE_MAX_BYTES:
            raise forms.ValidationError(_("The file has more than %(most)d MiB.") % {"most": FILE_MAX_BYTES // 2**20})
        return file

    def check(self, owner: User) -> Job:
        """Have a worker look at the file. Raises TourneyError."""
        about = {name: self.cleaned_data[name].strip() for name in ("name", "licence", "source", "description")}
        data = self.cleaned_data
        return services.questions_upload(owner=owner, file=data["file"], slug=data["slug"], about=about)


@staff_only
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """Upload a file; it is only looked at."""
    form = SetImportForm(request.POST or None, request.FILES or None, initial=request.GET.dict())
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("evaluations:set_checked", form.check(cast(User, request.user)).pk)
        except TourneyError as error:
            form.add_error("file", str(error))
    context = {"form": form, "slugs": QuestionSet.objects.values_list("slug", flat=True)}
    return render(request, "evaluations/set_import.html", context, status=400 if form.errors else 200)


@staff_only
@require_safe
def checked(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """How far the job is, then what would come, or what came."""
    return _checked(request, _job(request, job_id))


@staff_only
@require_POST
def confirm(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Store what was looked at."""
    job = _job(request, job_id)
    try:
        made = services.questions_upload_confirm(owner=cast(User, request.user), checked=job)
    except TourneyError as error:
        return _checked(request, job, error=str(error))
    return redirect("evaluations:set_checked", made.pk)


@staff_only
@require_POST
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Forget a set that no run asks."""
    question_set = get_object_or_404(QuestionSet, slug=slug)
    try:
        services.question_set_delete(question_set=question_set)
    except TourneyError as error:
        messages.error(request, str(error))
        return redirect("evaluations:set", slug)
    messages.success(request, _("%(name)s is deleted.") % {"name": question_set.name})
    return redirect("evaluations:sets")


def _job(request: HttpRequest, job_id: UUID) -> Job:
    try:
        job = job_of(cast(User, request.user), job_id)
    except JobNotFound:
        raise Http404 from None
    if job.kind != KIND:
        raise Http404
    return job


def _checked(request: HttpRequest, job: Job, *, error: str = "") -> HttpResponse:
    is_done, is_check = job.state == Job.State.DONE, job.parameters["is_dry_run"]
    found = job.result if is_done else {}
    context = {
        "job": job,
        "found": found,
        "problems": job.result.get("fields", {}).get("file", []),
        "error": error,
        "is_check": is_check,
        "changes": bool(found and (found["added"] or found["changed"] or found["references"])),
        "is_there": QuestionSet.objects.filter(slug=job.parameters["slug"]).exists(),
    }
    return render(request, "evaluations/set_checked.html", context, status=400 if error else 200)
