"""Battles in the admin, to look at: what people and models said is never edited. Only prompt sets are."""

from django.contrib import admin

from battles.integrity_admin import PreferenceAdmin, VoterAdmin
from battles.models import Battle, Prompt, PromptSet, Reaction, Redraw, Response, Side, Turn
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


@admin.register(Response)
class ResponseAdmin(ReadOnly, admin.ModelAdmin):
    list_display = [
        "id",
        "written_by",
        "status",
        "error_kind",
        "attempt",
        "first_token_ms",
        "latency_ms",
        "output_tokens",
    ]
    list_filter = ["status", "error_kind", "side__model"]
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
