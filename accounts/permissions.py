"""What a request may do: each API view names the scope that each of its methods needs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.errors import ScopeMissing
from accounts.models import ApiKey, Scope, User

if TYPE_CHECKING:  # rest_framework.views imports this file, by the settings
    from rest_framework.views import APIView


class HasScope(BasePermission):
    """Reads `view.required_scopes`: one Scope, or one a method as `{"GET": Scope.READ, "POST": Scope.RUN}`. Apps that
    may not import this one write its value, as "read".

    A browser session has every scope but admin, which needs staff; a key has those that it was given, and loses
    admin with its owner's staff status. A view that names no scope for a method that it answers is a defect.
    """

    def has_permission(self, request: Request, view: "APIView") -> bool:
        if not isinstance(request.user, User):
            return False  # DRF answers 401
        scope = _required(request.method or "GET", view)
        if scope is None:
            return True
        if isinstance(request.auth, ApiKey) and scope not in request.auth.scopes:
            raise ScopeMissing(f"This key lacks the scope “{scope}”. Make a key that has it on the account page.")
        if scope == Scope.ADMIN and not request.user.is_staff:
            raise ScopeMissing("Only staff may do this.")
        return True


def _required(method: str, view: "APIView") -> Scope | None:
    """The scope for this method; None for a method that the view does not have, which DRF answers with 405."""
    if method == "OPTIONS":
        return Scope.READ
    method = "GET" if method == "HEAD" else method
    if not hasattr(view, method.lower()):
        return None
    scopes: Any = getattr(view, "required_scopes", None)
    if isinstance(scopes, Mapping):
        scopes = scopes.get(method)
    if scopes not in Scope.values:
        raise ImproperlyConfigured(f"{type(view).__name__} names no required scope for {method}")
    return Scope(scopes)
