"""What our middlewares share, and the Content-Security-Policy: nothing inline, nothing from elsewhere."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]
# Takes an answer on its way out and gives what is sent.
Finish = Callable[[HttpResponseBase], HttpResponseBase]


class Middleware(ABC):
    """One that works in both of Django's ways, with and without a loop, and never changes the thread for it, as
    MiddlewareMixin would."""

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
        with self.around(request) as finish:
            return finish(cast(HttpResponseBase, self.get_response(request)))

    async def _answer_later(self, request: HttpRequest) -> HttpResponseBase:
        with self.around(request) as finish:
            return finish(await cast(Awaitable[HttpResponseBase], self.get_response(request)))

    @abstractmethod
    def around(self, request: HttpRequest) -> AbstractContextManager[Finish]:
        """What lasts while the request is answered."""


class ContentSecurityPolicyMiddleware(Middleware):
    """Sets the policy on every answer that has not set its own (the API's documentation page does)."""

    def around(self, request: HttpRequest) -> AbstractContextManager[Finish]:
        return nullcontext(_with_policy)


def _with_policy(response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    return response
