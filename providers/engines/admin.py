"""Engines in the admin: how they are and why, their last lines, and what is wanted of them."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from common.admin import Audited
from providers.engines.models import Engine
from providers.engines.plan_admin import plan_page
from providers.engines.services import engine_desired_set, engine_endpoint_sync, engines_delete
from providers.engines.states import Wanted


@admin.register(Engine)
class EngineAdmin(Audited, admin.ModelAdmin):
    change_list_template = "admin/providers/engine_list.html"
    list_display = ["slug", "now", "why_shortly", "wanted", "traffic", "cache", "share"]
    search_fields = ["slug", "model"]
    actions = ["wake", "sleep", "stop"]
    readonly_fields = ["now", "why", "endpoint", "traffic", "cache", "state_since", "started_at", "restarts", "log"]
    fieldsets = [
        (None, {"fields": ["slug", "model", "revision", "desired"]}),
        (gettext_lazy("Now"), {"fields": ["now", "why", "endpoint", "traffic", "cache", "state_since", "started_at"]}),
        (gettext_lazy("Memory"), {"fields": ["memory_share", "context", "quantization", "dtype", "sleep_level"]}),
        (gettext_lazy("Where"), {"fields": ["host", "port", "gpus", "tensor_parallel"]}),
        (gettext_lazy("More"), {"fields": ["extra_arguments", "restarts", "log"]}),
    ]

    def get_urls(self) -> list[URLPattern]:
        plan = self.admin_site.admin_view(require_http_methods(["GET", "HEAD", "POST"])(self.plan_view))
        return [path("plan/", plan, name="providers_engine_plan"), *super().get_urls()]

    def plan_view(self, request: HttpRequest) -> HttpResponse:
        """What fits on which GPU, for those who may see engines; making them is for those who may add them."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return plan_page(request, site=self.admin_site, can_make=self.has_add_permission(request))

    @admin.display(description=gettext_lazy("Now"), ordering="state")
    def now(self, engine: Engine) -> str:
        return str(engine.get_state_display())

    @admin.display(description=gettext_lazy("Why"))
    def why(self, engine: Engine) -> str:
        return engine.why

    @admin.display(description=gettext_lazy("Why"))
    def why_shortly(self, engine: Engine) -> str:
        return self.why(engine).partition(". ")[0]

    @admin.display(description=gettext_lazy("Wanted"), ordering="desired")
    def wanted(self, engine: Engine) -> str:
        return engine.desired.capitalize()

    @admin.display(description=gettext_lazy("Requests"))
    def traffic(self, engine: Engine) -> str:
        numbers = {"running": engine.running, "waiting": engine.waiting}
        return _("%(running)d running, %(waiting)d waiting") % numbers

    @admin.display(description=gettext_lazy("Cache"))
    def cache(self, engine: Engine) -> str:
        if engine.cache_tokens is None:
            return ""
        return _("%(tokens)s tokens, %(percent)d %% full") % {
            "tokens": f"{engine.cache_tokens:,}",
            "percent": round(engine.cache_used * 100),
        }

    @admin.display(description=gettext_lazy("Share"), ordering="memory_share")
    def share(self, engine: Engine) -> str:
        return "" if engine.memory_share is None else f"{engine.memory_share:.2f}"

    @admin.display(description=gettext_lazy("Last lines of its log"))
    def log(self, engine: Engine) -> str:
        return format_html('<pre class="log">{}</pre>', engine.log_tail or _("Nothing yet"))

    def save_model(self, request: HttpRequest, obj: Engine, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        engine_endpoint_sync(engine=obj)
        if "desired" in form.changed_data:
            engine_desired_set(engine=obj, desired=Wanted(obj.desired))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Requests name the model by the slug."""
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "slug"] if obj else fields

    def delete_model(self, request: HttpRequest, obj: Engine) -> None:
        engines_delete(engines=Engine.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Engine]) -> None:
        engines_delete(engines=queryset)

    @admin.action(description=gettext_lazy("Start or wake: be awake"))
    def wake(self, request: HttpRequest, engines: QuerySet[Engine]) -> None:
        self._want(request, engines, Wanted.AWAKE)

    @admin.action(description=gettext_lazy("Sleep: finish what runs, then free the GPU"))
    def sleep(self, request: HttpRequest, engines: QuerySet[Engine]) -> None:
        self._want(request, engines, Wanted.ASLEEP)

    @admin.action(description=gettext_lazy("Stop: finish what runs, then end the process"))
    def stop(self, request: HttpRequest, engines: QuerySet[Engine]) -> None:
        self._want(request, engines, Wanted.STOPPED)

    def _want(self, request: HttpRequest, engines: QuerySet[Engine], desired: Wanted) -> None:
        for engine in engines:
            engine_desired_set(engine=engine, desired=desired)
        count = engines.count()
        told = ngettext("%(count)d engine was told.", "%(count)d engines were told.", count)
        messages.success(request, told % {"count": count})
