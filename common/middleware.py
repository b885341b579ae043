"""The Content-Security-Policy: nothing inline, nothing from elsewhere."""

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class ContentSecurityPolicyMiddleware:
    """Sets the policy on every answer that has not set its own (the API's documentation page does)."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._answer_later(request)
        return self._with_policy(cast(HttpResponseBase, self.get_response(request)))

    async def _answer_later(self, request: HttpRequest) -> HttpResponseBase:
        return self._with_policy(await cast(Awaitable[HttpResponseBase], self.get_response(request)))

    def _with_policy(self, response: HttpResponseBase) -> HttpResponseBase:
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response
