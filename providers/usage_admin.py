"""What was used, in the admin: to look at, to filter by period, and to take away as CSV."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.views.decorators.http import require_safe

from common.admin import ReadOnly
from common.csv import csv_lines
from providers.models import CachedAnswer, Usage

SUMS = ("requests", "failures", "cached", "input_tokens", "output_tokens", "cost")
HEADER = ("day", "endpoint", "model", "user", *SUMS[:-1], "cost_usd")


@admin.register(Usage)
class UsageAdmin(ReadOnly, admin.ModelAdmin):
    change_list_template = "admin/providers/usage_list.html"
    list_display = ["day", "model", "user", *SUMS]
    list_filter = ["day", "model__endpoint", "model"]
    list_select_related = ["model__endpoint", "user"]
    search_fields = ["model__name", "model__slug", "user__username"]
    date_hierarchy = "day"

    def get_urls(self) -> list[URLPattern]:
        csv = self.admin_site.admin_view(require_safe(self.csv))
        return [path("csv/", csv, name="providers_usage_csv"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list, with the sums of all rows that its filters leave."""
        response = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            rows: QuerySet[Usage] = response.context_data["cl"].get_queryset(request)
            sums = rows.order_by().aggregate(**{f"sum_{name}": Sum(name) for name in SUMS})
            response.context_data["sums"] = {name: sums[f"sum_{name}"] for name in SUMS}
        return response

    def csv(self, request: HttpRequest) -> HttpResponse:
        """All rows that the list's filters leave, by day."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = self.get_changelist_instance(request).get_queryset(request).order_by("day", "model__slug", "user")
        cells = (
            (row.day, row.model.endpoint or "", row.model.slug, row.user or "", *(getattr(row, name) for name in SUMS))
            for row in rows.select_related("model__endpoint", "user").iterator(chunk_size=2000)
        )
        lines = csv_lines(HEADER, ([str(cell) if not isinstance(cell, int) else cell for cell in row] for row in cells))
        headers = {"Content-Disposition": 'attachment; filename="usage.csv"'}
        return HttpResponse(lines, content_type="text/csv; charset=utf-8", headers=headers)


@admin.register(CachedAnswer)
class CachedAnswerAdmin(ReadOnly, admin.ModelAdmin):
    """Answers that may serve again; deleting one is how an operator takes it back."""

    list_display = ["model", "beginning", "created_at", "expires_at"]
    list_filter = ["model", "expires_at"]
    list_select_related = ["model"]
    exclude = ["served_to"]

    @admin.display(description="text")
    def beginning(self, answer: CachedAnswer) -> str:
        return answer.text[:80]

    def has_delete_permission(self, request: HttpRequest, obj: CachedAnswer | None = None) -> bool:
        return admin.ModelAdmin.has_delete_permission(self, request, obj)
