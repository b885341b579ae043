"""Battles in the admin, to look at: what people and models said is never edited. Only prompt sets are."""

from typing import cast

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _g
from django.utils.translation import gettext_lazy as _
from kombu.exceptions import OperationalError

from accounts.models import User
from battles import services
from battles.errors import LabelInvalid
from battles.integrity_admin import PreferenceAdmin, VoterAdmin
from battles.models import (
    Battle,
    Category,
    ImportedPreference,
    Pool,
    Prompt,
    PromptSet,
    Reaction,
    Redraw,
    Response,
    Side,
    Turn,
)
from battles.tasks import categories_judge
from common.admin import Audited, ReadOnly

__all__ = ["PreferenceAdmin", "VoterAdmin"]


class PromptInline(admin.TabularInline):
    model = Prompt
    extra = 0


@admin.register(PromptSet)
class PromptSetAdmin(Audited, admin.ModelAdmin):
    list_display = ["name", "slug", "is_suggested"]
    prepopulated_fields = {"slug": ["name"]}
    inlines = [PromptInline]


@admin.register(Pool)
class PoolAdmin(Audited, admin.ModelAdmin):
    list_display = ["name", "slug", "size_min", "size_max", "licences", "tags", "members_now", "position"]
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["members_now"]

    @admin.display(description="models in it")
    def members_now(self, pool: Pool) -> str:
        return ", ".join(model.name for model in pool.members()) or "-"


class LabelActionForm(ActionForm):
    """The bar of actions, with what a battle shall be about."""

    category = forms.ChoiceField(label=_("Category"), required=False, choices=[("", "—"), *Category.choices])
    language = forms.CharField(label=_("Language"), required=False, max_length=16)


class SideInline(ReadOnly, admin.TabularInline):
    model = Side
    extra = 0


class TurnInline(ReadOnly, admin.TabularInline):
    model = Turn
    extra = 0


@admin.register(Battle)
class BattleAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["id", "owner", "mode", "category", "language", "created_at", "revealed_at", "deleted_at"]
    list_filter = [
        "mode",
        "preferences__exclusion",
        "category",
        "category_source",
        ("language", admin.AllValuesFieldListFilter),
        "created_at",
    ]
    search_fields = ["id", "owner__username"]
    list_select_related = ["owner"]
    date_hierarchy = "created_at"
    inlines = [SideInline, TurnInline]
    action_form = LabelActionForm
    actions = ["relabel", "judge"]

    def has_label_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("battles.change_battle")

    @admin.action(description=_("Correct category or language"), permissions=["label"])
    def relabel(self, request: HttpRequest, rows: QuerySet[Battle]) -> None:
        given = {name: request.POST.get(name, "") for name in ("category", "language")}
        ids = list(rows.order_by().values_list("pk", flat=True))
        try:
            number = services.battles_relabel(ids=ids, actor=cast(User, request.user), **given)
        except LabelInvalid as error:
            messages.error(request, str(error))
        else:
            messages.success(request, _g("Corrected: %(number)d.") % {"number": number})

    @admin.action(description=_("Ask the judge model for the category"), permissions=["label"])
    def judge(self, request: HttpRequest, rows: QuerySet[Battle]) -> None:
        if not settings.CATEGORY_JUDGE:
            messages.error(request, _g("No model judges categories here: the setting CATEGORY_JUDGE names one."))
            return
        ids = [str(pk) for pk in rows.order_by().values_list("pk", flat=True)]
        try:
            categories_judge.apply_async((settings.CATEGORY_JUDGE, ids), retry=False)
        except OperationalError:
            messages.error(request, _g("No worker can be told at the moment. Please try again in a minute."))
        else:
            messages.success(request, _g("A worker asks %(model)s.") % {"model": settings.CATEGORY_JUDGE})


@admin.register(Response)
class ResponseAdmin(ReadOnly, admin.ModelAdmin):
    list_display = [
        "id",
        "written_by",
        "status",
        "error_kind",
        "is_refusal",
        "attempt",
        "first_token_ms",
        "latency_ms",
        "output_tokens",
    ]
    list_filter = ["status", "error_kind", "is_refusal", "side__model"]
    list_select_related = ["side__model"]
    search_fields = ["id", "turn__battle__id"]

    @admin.display(description="model", ordering="side__model__name")
    def written_by(self, response: Response) -> str:
        return response.side.model.name


@admin.register(Reaction)
class ReactionAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["response", "user", "value", "created_at"]
    list_filter = ["value", "created_at"]
    list_select_related = ["response", "user"]
    search_fields = ["response__id", "user__username"]


@admin.register(Redraw)
class RedrawAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["created_at", "model", "error_kind", "error_message", "side"]
    list_filter = ["error_kind", "model"]
    list_select_related = ["model", "side__model"]
    search_fields = ["side__battle__id"]
    date_hierarchy = "created_at"


@admin.register(ImportedPreference)
class ImportedPreferenceAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["digest", "prompt_set", "chosen_model", "rejected_model", "category", "created_at"]
    list_filter = ["prompt_set", "created_at"]
    list_select_related = ["prompt_set"]
