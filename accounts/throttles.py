"""How many API requests a caller may make."""

from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import ApiKey
from common import limits

if TYPE_CHECKING:  # rest_framework.views imports this file, by the settings
    from rest_framework.views import APIView


class RequestThrottle(BaseThrottle):
    """`API_REQUESTS_PER_MINUTE` for each key, or person, or address; over it TooMany is raised, which says when to
    come back."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        limits.hit(f"api:{self._caller(request)}", limit=settings.API_REQUESTS_PER_MINUTE, seconds=60)
        return True

    def _caller(self, request: Request) -> str:
        if isinstance(request.auth, ApiKey):
            return f"key:{request.auth.pk}"
        if request.user.is_authenticated:
            return f"user:{request.user.pk}"
        return f"address:{self.get_ident(request)}"
