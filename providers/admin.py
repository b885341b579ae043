"""Endpoints and language models in the admin."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet, URLField
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from providers.models import Endpoint, LanguageModel

# What an address without a scheme means; the default of Django 6.
HTTPS: dict[type[Any], dict[str, Any]] = {URLField: {"assume_scheme": "https"}}


class LanguageModelInline(admin.TabularInline):
    model = LanguageModel
    fields = ["name", "slug", "upstream_id", "status"]
    prepopulated_fields = {"slug": ["name"]}
    show_change_link = True
    extra = 0


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin):
    list_display = ["name", "kind", "base_url", "is_enabled", "is_reachable", "checked_at"]
    list_filter = ["kind", "is_enabled", "is_reachable"]
    search_fields = ["name", "slug", "base_url"]
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["is_reachable", "checked_at", "created_at"]
    inlines = [LanguageModelInline]
    formfield_overrides = HTTPS


@admin.register(LanguageModel)
class LanguageModelAdmin(admin.ModelAdmin):
    list_display = ["name", "slug", "endpoint", "organisation", "status", "sampling_weight", "created_at"]
    list_filter = ["status", "endpoint", "organisation", "is_reasoning"]
    list_select_related = ["endpoint"]
    search_fields = ["name", "slug", "upstream_id", "organisation"]
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["created_at"]
    actions = ["activate", "hide", "retire"]
    formfield_overrides = HTTPS

    @admin.action(description=_("Activate: may be drawn and chosen"))
    def activate(self, request: HttpRequest, models: QuerySet[LanguageModel]) -> None:
        self._set(request, models, LanguageModel.Status.ACTIVE)

    @admin.action(description=_("Hide: not drawn, not shown"))
    def hide(self, request: HttpRequest, models: QuerySet[LanguageModel]) -> None:
        self._set(request, models, LanguageModel.Status.HIDDEN)

    @admin.action(description=_("Retire: not drawn any more, its ratings stay"))
    def retire(self, request: HttpRequest, models: QuerySet[LanguageModel]) -> None:
        self._set(request, models, LanguageModel.Status.RETIRED)

    def _set(self, request: HttpRequest, models: QuerySet[LanguageModel], status: LanguageModel.Status) -> None:
        count = models.update(status=status)
        messages.success(request, _("%(count)d models are now %(status)s.") % {"count": count, "status": status.label})
