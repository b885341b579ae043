"""What admin classes of several apps share."""

from typing import Any

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from common.audit import Deed, note


class ReadOnly:
    """Mixed into an admin class or an inline, before it: rows that programs write are to look at; nobody adds, changes
    or deletes them by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Audited:
    """Mixed into an admin class, before it: what is added, changed, deleted or done by an action is in the audit log.
    Names of fields are kept, their values are not: one may be a secret."""

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        _note(request, "add", obj, [obj])
        return super().log_addition(request, obj, message)  # type: ignore[misc] # a mixin

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        if message:
            _note(request, "change", obj, [obj], fields=_changed(message))
        return super().log_change(request, obj, message)  # type: ignore[misc]

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        _note(request, "delete", queryset.model, queryset)
        return super().log_deletions(request, queryset)  # type: ignore[misc]

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *more: Any, **named: Any) -> Any:
        action = request.POST.get("action", "")
        chosen = queryset.filter(pk__in=request.POST.getlist("_selected_action"))
        names = [str(row)[:100] for row in chosen[:100]]
        response = super().response_action(request, queryset, *more, **named)  # type: ignore[misc]
        if action and action != "delete_selected" and names:
            detail = {"action": action, "rows": names}
            what = f"{queryset.model._meta.model_name}_action"
            note(Deed(actor_id=request.user.pk, action=what, subject=action, detail=detail))
        return response


def _note(request: HttpRequest, verb: str, model: Any, rows: Any, **detail: Any) -> None:
    what = f"{model._meta.model_name}_{verb}"
    note(*(Deed(actor_id=request.user.pk, action=what, subject=str(row), detail=detail) for row in rows))


def _changed(message: Any) -> list[str]:
    """What Django's change message says, flat: names of fields, and what became of rows beside the object."""
    parts: list[str] = []
    for entry in message if isinstance(message, list) else []:
        for verb, what in entry.items():
            row = f"{what['name']} {what['object']}: " if "object" in what else ""
            parts.append(f"{row}{verb} {', '.join(what.get('fields', []))}".strip())
    return parts
