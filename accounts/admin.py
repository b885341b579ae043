"""People and keys in the admin. A key's secret is nowhere, so it cannot be shown."""

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import services
from accounts.models import ApiKey, ApiKeyUse, AuditEntry, IdempotentRequest, User
from common.admin import Audited, ReadOnly
from common.audit import Deed, note

ROLES = ("is_staff", "is_superuser", "is_active")


@admin.register(User)
class UserAdmin(Audited, BaseUserAdmin):
    list_display = ["username", "email", "is_staff", "is_active", "shares_data", "last_login", "date_joined"]
    list_filter = [
        "is_staff",
        "is_superuser",
        "is_active",
        "shares_data",
        ("deletion_asked_at", admin.EmptyFieldListFilter),
    ]
    actions = ["reopen"]
    fieldsets = [*(BaseUserAdmin.fieldsets or ()), (_("Data"), {"fields": ["shares_data", "monthly_budget"]})]

    @admin.action(description=_("Open closed accounts again"), permissions=["change"])
    def reopen(self, request: HttpRequest, users: QuerySet[User]) -> None:
        for user in users.exclude(deletion_asked_at=None):
            services.account_reopen(user=user, actor=cast(User, request.user))
        self.message_user(request, _("The accounts are open again."), messages.SUCCESS)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Roles are kept with what they were, and not only by name."""
        user = form.instance
        groups = set(user.groups.values_list("name", flat=True))
        super().save_related(request, form, formsets, change)
        changes = {name: [form.initial.get(name), getattr(user, name)] for name in ROLES if name in form.changed_data}
        now = set(user.groups.values_list("name", flat=True))
        if now != groups:
            changes["groups"] = [sorted(groups), sorted(now)]
        if changes:
            note(Deed(actor_id=request.user.pk, action="roles_change", subject=user.username, detail=changes))


class ApiKeyUseInline(ReadOnly, admin.TabularInline):
    model = ApiKeyUse
    extra = 0


@admin.register(ApiKey)
class ApiKeyAdmin(Audited, admin.ModelAdmin):
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
            services.apikey_revoke(user=key.user, apikey_id=key.pk, actor=cast(User, request.user))
        self.message_user(request, _("The keys are revoked."), messages.SUCCESS)


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["key", "user", "status", "created_at"]
    list_filter = ["status", "created_at"]
    list_select_related = ["user"]
    search_fields = ["key", "user__username"]


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["created_at", "actor", "action", "subject", "detail"]
    list_filter = ["action", "created_at"]
    list_select_related = ["actor"]
    search_fields = ["subject", "action", "actor__username"]
    date_hierarchy = "created_at"
