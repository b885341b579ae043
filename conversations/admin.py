"""Conversations in the admin, to look at: what models said is never edited. Scenarios have pages of their own."""

from django.contrib import admin

from common.admin import ReadOnly
from conversations.models import Agent, Analysis, Conversation, Scenario, Turn


class AgentInline(ReadOnly, admin.TabularInline):
    model = Agent
    extra = 0


@admin.register(Conversation)
class ConversationAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["id", "owner", "state", "reason", "max_turns", "created_at", "deleted_at"]
    list_filter = ["state", "reason", "created_at"]
    search_fields = ["id", "owner__username"]
    list_select_related = ["owner"]
    date_hierarchy = "created_at"
    inlines = [AgentInline]


@admin.register(Turn)
class TurnAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["id", "model", "number", "speaker", "status", "error_kind", "is_refusal", "latency_ms"]
    list_filter = ["status", "error_kind", "is_refusal"]
    search_fields = ["id", "conversation__id"]
    list_select_related = ["model"]


@admin.register(Analysis)
class AnalysisAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["id", "model", "prompt_version", "status", "created_at"]
    list_filter = ["status", "prompt_version"]
    list_select_related = ["model"]


@admin.register(Scenario)
class ScenarioAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["name", "slug", "version", "is_current", "owner"]
    list_filter = ["is_current"]
    search_fields = ["name", "slug"]
    list_select_related = ["owner"]
