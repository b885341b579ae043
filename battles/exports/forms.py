"""The form of the page of exports."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from battles.exports.selection import Selection
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
    comments = forms.BooleanField(
        label=_("With the comments"),
        required=False,
        help_text=_("What people wrote about the answers. It may say who they are: read it before you pass it on."),
    )
    bundle = forms.BooleanField(label=_("With a dataset card and a manifest (zip)"), required=False)

    def __init__(self, *args: Any, viewer: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.viewer = viewer
        if not viewer.is_staff:
            cast("forms.ModelChoiceField[Board]", self.fields["board"]).queryset = Board.objects.filter(is_public=True)

    def selection(self) -> Selection:
        """Administrators have the votes of all who share, others their own."""
        data = self.cleaned_data
        return Selection(
            owner_id=None if self.viewer.is_staff else self.viewer.pk,
            board=data["board"].slug if data["board"] else "",
            **{name: data[name] for name in ("shape", "category", "since", "until", "trajectories", "comments")},
        )

    def wanted(self) -> dict[str, Any]:
        """How the file is wanted."""
        return {name: self.cleaned_data[name] for name in ("kind", "format", "bundle")} | {"gzip": False}

    def query(self) -> dict[str, str]:
        """The same for the address of the API that streams it."""
        asked = {name: str(self.data[name]) for name in self.fields if name != "kind" and self.data.get(name)}
        return asked | {"bundle": "zip"} if self.cleaned_data["bundle"] else asked
