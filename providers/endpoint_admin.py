"""Endpoints in the admin: a key that is pasted and never shown again, a test of the connection, models to import."""

from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, URLField
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from common.admin import Audited
from providers import services
from providers.keys import origin_of
from providers.models import Endpoint, LanguageModel
from providers.selectors import limits_now, target_of
from providers.upstream_models import ConnectionReport, connection_check

# What an address without a scheme means; the default of Django 6.
HTTPS: dict[type[Any], dict[str, Any]] = {URLField: {"assume_scheme": "https"}}


class EndpointForm(forms.ModelForm):
    new_key = forms.CharField(
        label=gettext_lazy("Key"),
        required=False,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "size": 60}),
        help_text=gettext_lazy(
            "Paste it here: it is stored encrypted and never shown again. Empty leaves it as it is."
        ),
    )
    forget_key = forms.BooleanField(label=gettext_lazy("Forget the stored key"), required=False)

    class Meta:
        model = Endpoint
        fields = ["name"]  # and those that the fieldsets below name

    def clean(self) -> dict[str, Any]:
        """A stored key is for one server: said here, since it would not be sent to another anyway."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        has_moved = origin_of(given.get("base_url", "")) != origin_of(self.initial.get("base_url", ""))
        if self.instance.encrypted_key and has_moved and not (given.get("new_key") or given.get("forget_key")):
            words = _("The address leads to another server: paste its key, or forget the stored one.")
            self.add_error("new_key", words)
        return given


class LanguageModelInline(admin.TabularInline):
    model = LanguageModel
    fields = ["name", "slug", "upstream_id", "status"]
    prepopulated_fields = {"slug": ["name"]}
    show_change_link = True
    extra = 0


@admin.register(Endpoint)
class EndpointAdmin(Audited, admin.ModelAdmin):
    form = EndpointForm
    change_form_template = "admin/providers/endpoint_form.html"
    list_display = ["name", "kind", "base_url", "is_enabled", "has_outage", "has_key", "is_reachable", "checked_at"]
    list_filter = ["kind", "is_enabled", "has_outage", "has_key", "is_reachable"]
    search_fields = ["name", "slug", "base_url"]
    prepopulated_fields = {"slug": ["name"]}
    readonly_fields = ["is_reachable", "checked_at", "created_at", "stored_key", "traffic", "spent_until"]
    actions = ["enable", "disable", "outage_begin", "outage_end"]
    inlines = [LanguageModelInline]
    formfield_overrides = HTTPS
    fieldsets = [
        (None, {"fields": ["name", "slug", "kind", "base_url", "is_enabled", "has_outage"]}),
        (gettext_lazy("Key"), {"fields": ["api_key_variable", "stored_key", "new_key", "forget_key", "needs_key"]}),
        (
            gettext_lazy("Limits"),
            {
                "fields": [
                    "requests_per_minute",
                    "tokens_per_minute",
                    "max_streams",
                    "traffic",
                    "monthly_budget",
                    "spent_until",
                ]
            },
        ),
        (
            gettext_lazy("Time"),
            {"fields": ["connect_timeout", "first_token_timeout", "idle_timeout", "total_timeout", "cache_seconds"]},
        ),
        (gettext_lazy("More"), {"fields": ["quirks", "is_reachable", "checked_at", "created_at"]}),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """The address of an engine's endpoint follows the engine."""
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "base_url"] if obj and obj.engine_state else fields

    @admin.display(description=gettext_lazy("Stored key"))
    def stored_key(self, endpoint: Endpoint) -> str:
        return _("There is one; it is not shown.") if endpoint.encrypted_key else _("None")

    @admin.display(description=gettext_lazy("At this moment"))
    def traffic(self, endpoint: Endpoint) -> str:
        now = limits_now(endpoint)
        words = _("%(streams)d of %(places)d places taken, %(waiting)d wait") % now
        return words + (_(", paused for %(paused)d s") % now if now["paused"] else "")

    def save_model(self, request: HttpRequest, obj: Endpoint, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.cleaned_data.get("new_key") or form.cleaned_data.get("forget_key"):
            services.endpoint_key_set(endpoint=obj, key=form.cleaned_data.get("new_key", ""))
        services.keys_refresh()
        services.endpoint_budget_refresh(endpoint=obj)

    # --- Test the connection, import models ---

    def get_urls(self) -> list[URLPattern]:
        mine = [
            path(
                "<int:pk>/test/",
                self.admin_site.admin_view(require_POST(self.test_view)),
                name="providers_endpoint_test",
            ),
            path("<int:pk>/models/", self.admin_site.admin_view(self.models_view), name="providers_endpoint_models"),
        ]
        return mine + super().get_urls()

    def _endpoint(self, request: HttpRequest, pk: int) -> Endpoint:
        endpoint = get_object_or_404(Endpoint, pk=pk)
        if not self.has_change_permission(request, endpoint):
            raise PermissionDenied
        return endpoint

    def test_view(self, request: HttpRequest, pk: int) -> HttpResponseRedirect:
        """Ask the endpoint for its models and say in a sentence how that went."""
        endpoint = self._endpoint(request, pk)
        report = self._checked(endpoint)
        words = report.sentence
        if report.is_ok and report.latency_ms is not None:
            words += " " + _("It took %(milliseconds)d ms.") % {"milliseconds": report.latency_ms}
        elif report.detail:
            words += " " + _("In its own words: %(detail)s") % {"detail": report.detail}
        messages.add_message(request, messages.SUCCESS if report.is_ok else messages.ERROR, words)
        return redirect("admin:providers_endpoint_change", pk)

    def models_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Choose from what the endpoint offers; those that are in the catalogue already are marked."""
        endpoint = self._endpoint(request, pk)
        report = self._checked(endpoint)
        if not report.is_ok:
            messages.error(request, report.sentence)
            return redirect("admin:providers_endpoint_change", pk)
        if request.method == "POST":
            chosen = set(request.POST.getlist("model"))
            models = [model for model in report.models if model.id in chosen]
            count = services.models_import(endpoint=endpoint, models=models)
            messages.success(request, _("%(count)d models were added.") % {"count": count})
            return redirect("admin:providers_endpoint_change", pk)
        there = set(endpoint.language_models.values_list("upstream_id", flat=True))
        context = {
            **self.admin_site.each_context(request),
            "title": _("Import models"),
            "opts": self.model._meta,
            "endpoint": endpoint,
            "rows": [(model, model.id in there) for model in report.models],
        }
        return render(request, "admin/providers/endpoint_models.html", context)

    def _checked(self, endpoint: Endpoint) -> ConnectionReport:
        report = async_to_sync(connection_check)(target_of(endpoint))
        services.endpoint_reachability_set(slug=endpoint.slug, reachable=report.latency_ms is not None)
        return report

    # --- Actions ---

    @admin.action(description=gettext_lazy("Enable"))
    def enable(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._set(request, endpoints, is_enabled=True)

    @admin.action(description=gettext_lazy("Disable: its models are not offered"))
    def disable(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._set(request, endpoints, is_enabled=False)

    @admin.action(description=gettext_lazy("Outage begins: its models are not drawn for now"))
    def outage_begin(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._set(request, endpoints, has_outage=True)

    @admin.action(description=gettext_lazy("Outage is over"))
    def outage_end(self, request: HttpRequest, endpoints: QuerySet[Endpoint]) -> None:
        self._set(request, endpoints, has_outage=False)

    def _set(self, request: HttpRequest, endpoints: QuerySet[Endpoint], **fields: bool) -> None:
        count = endpoints.update(**fields)
        messages.success(request, _("%(count)d endpoints were changed.") % {"count": count})
