"""The page of exports: filters, how many rows they give, a download at once or as a job."""

from typing import Any, cast

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from battles.exports.errors import ExportInvalid
from battles.exports.export import rows_estimated
from battles.exports.selection import Selection
from battles.exports.work import export_request
from battles.models import Category
from leaderboard.models import Board

KINDS = [
    ("dpo", _("DPO: prompt, chosen, rejected")),
    ("kto", _("KTO: prompt, completion, good or bad")),
    ("reward", _("Reward model: chosen, rejected")),
    ("battles", _("Battles, as Chatbot Arena writes them")),
    ("comparisons", _("Comparisons: outcomes without texts")),
]


class ExportForm(forms.Form):
    kind = forms.ChoiceField(label=_("What"), choices=KINDS)
    format = forms.ChoiceField(label=_("Format"), choices=[("jsonl", "JSONL"), ("csv", "CSV"), ("parquet", "Parquet")])
    shape = forms.ChoiceField(
        label=_("Texts"), choices=[("standard", _("Plain")), ("conversational", _("As lists of messages"))]
    )
    board = forms.ModelChoiceField(
        label=_("Board"), queryset=Board.objects.all(), to_field_name="slug", required=False, empty_label=_("All")
    )
    category = forms.ChoiceField(label=_("Category"), choices=[("", _("All")), *Category.choices], required=False)
    since = forms.DateTimeField(label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateTimeField(label=_("Until"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    trajectories = forms.BooleanField(label=_("Votes on several turns, as whole conversations"), required=False)
    bundle = forms.BooleanField(label=_("With a dataset card and a manifest (zip)"), required=False)

    def __init__(self, *args: Any, viewer: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not viewer.is_staff:
            cast("forms.ModelChoiceField[Board]", self.fields["board"]).queryset = Board.objects.filter(is_public=True)

    def selection(self, viewer: User) -> Selection:
        data = self.cleaned_data
        return Selection(
            owner_id=None if viewer.is_staff else viewer.pk,
            board=data["board"].slug if data["board"] else "",
            **{name: data[name] for name in ("shape", "category", "since", "until", "trajectories")},
        )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """GET counts where filters were given; POST has a job make the file."""
    viewer = cast(User, request.user)
    given = request.POST if request.method == "POST" else request.GET
    form = ExportForm(given or None, viewer=viewer)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        try:
            if request.method == "POST":
                _request(form, viewer)
                return redirect("accounts:jobs")
            context |= _counted(form, viewer) | {"download": _download(form, given.urlencode())}
        except ExportInvalid as error:
            form.add_error(None, str(error))
    return render(request, "battles/exports.html", context, status=200 if request.method != "POST" else 400)


def _request(form: ExportForm, viewer: User) -> None:
    data = form.cleaned_data
    wanted = {"format": data["format"], "bundle": data["bundle"], "gzip": False}
    export_request(owner=viewer, kind=data["kind"], selection=form.selection(viewer), **wanted)


def _counted(form: ExportForm, viewer: User) -> dict[str, Any]:
    rows, has_more = rows_estimated(kind=form.cleaned_data["kind"], selection=form.selection(viewer))
    return {"rows": rows, "has_more": has_more}


def _download(form: ExportForm, query: str) -> str:
    asked = [part for part in query.split("&") if not part.startswith(("kind=", "bundle=")) and not part.endswith("=")]
    asked += ["bundle=zip"] if form.cleaned_data["bundle"] else []
    return f"{reverse('api_export_' + form.cleaned_data['kind'])}?{'&'.join(asked)}"
