"""People and keys in the admin. A key's secret is nowhere, so it cannot be shown."""

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import services
from accounts.models import ApiKey, ApiKeyUse, IdempotentRequest, User
from common.admin import ReadOnly


@admin.register(User)
class UserAdmin(BaseUserAdmin):
    list_display = ["username", "email", "is_staff", "is_active", "shares_data", "last_login", "date_joined"]
    list_filter = ["is_staff", "is_superuser", "is_active", "shares_data"]
    fieldsets = [*(BaseUserAdmin.fieldsets or ()), (_("Data"), {"fields": ["shares_data", "monthly_budget"]})]


class ApiKeyUseInline(ReadOnly, admin.TabularInline):
    model = ApiKeyUse
    extra = 0


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin):
    list_display = [
        "prefix",
        "name",
        "user",
        "scopes",
        "created_at",
        "last_used_at",
        "requests_today",
        "limit_per_minute",
        "expires_at",
        "revoked_at",
    ]
    list_filter = [("revoked_at", admin.EmptyFieldListFilter), "created_at"]
    list_select_related = ["user"]
    search_fields = ["name", "prefix", "user__username"]
    actions = ["revoke"]
    # Its limit may be changed; what it may do was told to its owner when it was made.
    readonly_fields = [
        "user",
        "name",
        "prefix",
        "scopes",
        "created_at",
        "expires_at",
        "revoked_at",
        "last_used_at",
    ]
    exclude = ["digest"]
    inlines = [ApiKeyUseInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Keys are made on the account page, or by `manage.py apikey_issue`, which can show them."""
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        today = ApiKeyUse.objects.filter(apikey=OuterRef("pk"), day=timezone.now().date())
        keys: QuerySet[ApiKey] = super().get_queryset(request)
        return keys.annotate(today=Subquery(today.values("requests")))

    @admin.display(description=_("requests today"), ordering="today")
    def requests_today(self, key: ApiKey) -> int:
        return getattr(key, "today", None) or 0

    @admin.action(description=_("Revoke the selected keys"), permissions=["delete"])
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        for key in keys.select_related("user"):
            services.apikey_revoke(user=key.user, apikey_id=key.pk)
        self.message_user(request, _("The keys are revoked."), messages.SUCCESS)


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["key", "user", "status", "created_at"]
    list_filter = ["status", "created_at"]
    list_select_related = ["user"]
    search_fields = ["key", "user__username"]
