"""What admin classes of several apps share."""

from typing import Any

from django.http import HttpRequest


class ReadOnly:
    """Mixed into an admin class or an inline, before it: rows that programs write are to look at; nobody adds, changes
    or deletes them by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
