"""How many pages one address may ask for in a minute, whatever they are. The API counts by key and person instead, and
what spends money or is worth guessing has closer limits of its own; docs/operations.md lists all of them."""

import math

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from common.api import is_api
from common.errors import TooMany
from common.limits import hit


class PageLimitMiddleware(MiddlewareMixin):
    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if is_api(request):
            return None
        try:
            hit(f"pages:{request.META.get('REMOTE_ADDR', '')}", limit=settings.PAGES_PER_MINUTE, seconds=60)
        except TooMany as error:
            response = render(request, "429.html", status=error.status)
            response.headers["Retry-After"] = str(math.ceil(error.retry_after))
            return response
        return None
