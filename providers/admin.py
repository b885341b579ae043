"""Language models in the admin. Endpoints are in `endpoint_admin`, what was used in `usage_admin`."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from common.admin import Audited
from providers.endpoint_admin import HTTPS, EndpointAdmin
from providers.engines.admin import EngineAdmin
from providers.models import LanguageModel
from providers.usage_admin import UsageAdmin

__all__ = ["EndpointAdmin", "EngineAdmin", "LanguageModelAdmin", "UsageAdmin"]


@admin.register(LanguageModel)
class LanguageModelAdmin(Audited, admin.ModelAdmin):
    list_display = ["name", "slug", "endpoint", "organisation", "status", "now", "sampling_weight", "created_at"]
    list_filter = ["status", "endpoint", "organisation", "is_reasoning"]
    list_select_related = ["endpoint"]
    search_fields = ["name", "slug", "upstream_id", "organisation"]
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["now", "failures_in_row", "resting_until", "created_at", "retired_at"]
    actions = ["activate", "hide", "retire", "try_again"]
    fieldsets = [
        (None, {"fields": ["name", "slug", "endpoint", "upstream_id", "status", "sampling_weight", "tags"]}),
        (_("About it"), {"fields": ["organisation", "licence", "url"]}),
        (_("What it can"), {"fields": ["is_reasoning", "sees_images", "size", "context_window", "quirks"]}),
        (_("How it is asked"), {"fields": ["system_prompt", "temperature", "top_p", "max_tokens"]}),
        (_("What it costs"), {"fields": ["input_price", "output_price"]}),
        (_("How it fares"), {"fields": ["now", "failures_in_row", "resting_until", "created_at", "retired_at"]}),
    ]
    formfield_overrides = HTTPS

    @admin.display(description=_("Now"))
    def now(self, model: LanguageModel) -> str:
        if not model.is_active:
            return str(_("Not offered"))
        return model.away_because or str(_("Can be drawn"))

    @admin.action(description=_("Try again now: end its rest after failures"))
    def try_again(self, request: HttpRequest, models: QuerySet[LanguageModel]) -> None:
        count = models.update(failures_in_row=0, resting_until=None)
        messages.success(request, _("%(count)d models may be drawn again.") % {"count": count})

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
        count = 0
        for model in models.exclude(status=status):
            model.status = status
            model.save(update_fields=["status"])
            count += 1
        messages.success(request, _("%(count)d models are now %(status)s.") % {"count": count, "status": status.label})
