"""How many API requests a caller may make."""

import math
from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import ApiKey
from common import limits
from common.errors import TooMany

if TYPE_CHECKING:  # rest_framework.views imports this file, by the settings
    from rest_framework.views import APIView


class RequestThrottle(BaseThrottle):
    """So many a minute for each key, or `API_REQUESTS_PER_MINUTE` for each person, or address; over it TooMany is
    raised, which says when to come back. Counted in the cache, so by all processes together where that is Redis."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        caller, limit = self._caller(request)
        try:
            limits.hit(f"api:{caller}", limit=limit, seconds=60)
        except TooMany as error:
            message = f"That was more than {limit:,} requests a minute. Wait {math.ceil(error.retry_after)} s."
            raise TooMany(message, retry_after=error.retry_after) from None
        return True

    def _caller(self, request: Request) -> tuple[str, int]:
        if isinstance(request.auth, ApiKey):
            return f"key:{request.auth.pk}", request.auth.limit_per_minute
        if request.user.is_authenticated:
            return f"user:{request.user.pk}", settings.API_REQUESTS_PER_MINUTE
        return f"address:{self.get_ident(request)}", settings.API_REQUESTS_PER_MINUTE
