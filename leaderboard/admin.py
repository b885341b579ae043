"""Votes, snapshots and ratings in the admin: to look at. The one thing to do is to leave votes out of the ratings."""

from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _g
from django.utils.translation import gettext_lazy as _

from common.admin import Audited, ReadOnly
from leaderboard import services
from leaderboard.exclusions import Exclusion
from leaderboard.models import MAIN, TALK, Board, Comparison, ComparisonQuerySet, Rating, Snapshot
from leaderboard.review_admin import ReviewAdmin, VoterScoreAdmin

__all__ = ["ComparisonAdmin", "ReviewAdmin", "VoterScoreAdmin"]

# How comparisons can have been asked for; what an import says nothing of has none.
MODES = [
    ("blind", _("Blind battle")),
    ("named", _("Named battle")),
    ("lineup", _("Line-up")),
    (TALK, _("Conversations of models")),
]


@admin.register(Comparison)
class ComparisonAdmin(Audited, ReadOnly, admin.ModelAdmin):
    list_display = [
        "id",
        "model_a",
        "model_b",
        "outcome",
        "voter",
        "is_blind",
        "source_kind",
        "exclusion",
        "created_at",
    ]
    list_filter = [
        "outcome",
        "is_blind",
        "source_kind",
        "category",
        "language",
        ("exclusion", admin.AllValuesFieldListFilter),
        "created_at",
    ]
    list_select_related = ["model_a", "model_b", "voter"]
    search_fields = ["source_id", "voter__username", "model_a__name", "model_b__name"]
    show_full_result_count = False
    actions = ["leave_out", "count_again"]

    # Those of battles follow their votes, which have a list and a reason of their own.
    def _own(self, request: HttpRequest, queryset: QuerySet[Comparison]) -> ComparisonQuerySet:
        if queryset.filter(source_kind=Board.Source.PEOPLE).exists():
            messages.warning(request, _g("Those of battles follow their votes: see the list of preferences."))
        return cast(ComparisonQuerySet, queryset.exclude(source_kind=Board.Source.PEOPLE))

    def has_exclude_permission(self, request: HttpRequest) -> bool:
        """Who may use the two actions; named by their `permissions`."""
        return request.user.has_perm("leaderboard.change_comparison")

    @admin.action(description=_("Leave out of the ratings"), permissions=["exclude"])
    def leave_out(self, request: HttpRequest, queryset: QuerySet[Comparison]) -> None:
        changed = services.comparisons_exclude(comparisons=self._own(request, queryset), reason=Exclusion.ADMIN)
        messages.success(request, _g("Left out: %(number)d. New ratings are on the way.") % {"number": changed})

    @admin.action(description=_("Count again"), permissions=["exclude"])
    def count_again(self, request: HttpRequest, queryset: QuerySet[Comparison]) -> None:
        changed = services.comparisons_exclude(comparisons=self._own(request, queryset), reason="")
        messages.success(request, _g("Counted again: %(number)d. New ratings are on the way.") % {"number": changed})


class BoardForm(forms.ModelForm):
    """Says in words what may stand in the lists, and gives boxes to tick for them."""

    sources = forms.MultipleChoiceField(
        choices=Board.Source.choices, required=False, widget=forms.CheckboxSelectMultiple, help_text=_("None for all.")
    )
    modes = forms.MultipleChoiceField(
        choices=MODES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None for all but conversations of models."),
    )

    class Meta:
        model = Board
        exclude: ClassVar[list[str]] = []

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        since, until = (self.cleaned_data.get(name) for name in ("since", "until"))
        if since and until and since >= until:
            raise forms.ValidationError({"until": _("The end must come after the beginning.")})
        return cleaned


@admin.register(Board)
class BoardAdmin(Audited, admin.ModelAdmin):
    form = BoardForm
    list_display = [
        "name",
        "slug",
        "position",
        "is_public",
        "blind_only",
        "category",
        "language",
        "minimum_comparisons",
    ]
    list_editable = ["position", "is_public"]
    prepopulated_fields: ClassVar = {"slug": ["name"]}
    search_fields = ["name", "slug"]

    def has_delete_permission(self, request: HttpRequest, obj: Board | None = None) -> bool:
        """The main board stays: the rest of the house counts on it."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.slug != MAIN)

    def get_readonly_fields(self, request: HttpRequest, obj: Board | None = None) -> list[str]:
        return ["slug"] if obj is not None and obj.slug == MAIN else []

    def get_prepopulated_fields(self, request: HttpRequest, obj: Board | None = None) -> Any:
        return {} if obj is not None else self.prepopulated_fields

    def save_model(self, request: HttpRequest, obj: Board, form: BoardForm, change: bool) -> None:
        """A board that filters otherwise is another board: it is counted anew at once."""
        super().save_model(request, obj, form, change)
        transaction.on_commit(services.snapshots_request)


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnly, admin.ModelAdmin):
    list_display = [
        "id",
        "board",
        "category",
        "language",
        "person",
        "computed_at",
        "comparisons",
        "voters",
        "seconds",
        "code_version",
    ]
    list_filter = ["board", "computed_at"]
    list_select_related = ["board", "person"]
    exclude = ["pairs", "extras"]


@admin.register(Rating)
class RatingAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["snapshot", "rank", "model", "rating", "rating_lower", "rating_upper", "elo", "comparisons"]
    list_filter = ["model"]
    list_select_related = ["snapshot", "model"]
    search_fields = ["model__name"]
    show_full_result_count = False
