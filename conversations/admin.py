"""Conversations in the admin, to look at: what models said is never edited. Scenarios have pages of their own."""

from django.contrib import admin

from common.admin import ReadOnly
from conversations.models import Agent, Analysis, Conversation, ConversationPair, Scenario, Turn


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


@admin.register(ConversationPair)
class ConversationPairAdmin(ReadOnly, admin.ModelAdmin):
    """What people said of two conversations. To leave a vote out, see the comparison that has its id as its source."""

    list_display = ["created_at", "voter", "model_a", "model_b", "side", "choice", "is_blind", "withdrawn_at", "id"]
    list_filter = ["choice", "is_blind", "created_at"]
    list_select_related = ["voter", "model_a", "model_b"]
    search_fields = ["id", "voter__username", "conversation_a__id", "conversation_b__id"]
    raw_id_fields = ["conversation_a", "conversation_b"]
