"""Every request has an id, which its log lines, its answer (`X-Request-ID`) and its traces carry; it is counted, and in
JSON logs it has a line of its own. Routes are kept and no addresses: an address may hold a secret or a search."""

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from uuid import uuid4

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.functional import SimpleLazyObject, empty

from common import metrics
from common.logs import Value, bound
from common.middleware import Finish, Middleware
from common.tracing import span

log = logging.getLogger("tourney.requests")

HEADER = "X-Request-ID"
# What a proxy may call a request; anything else gets a name of ours.
NAME = re.compile(r"[A-Za-z0-9._-]{8,64}")
# What is in addresses and may be in a log: ids, and no tokens.
IDS = ("battle_id", "conversation_id", "experiment_id", "run_id", "job_id")


class ObservingMiddleware(Middleware):
    """The outermost one, so that it sees what the others answer."""

    @contextmanager
    def around(self, request: HttpRequest) -> Iterator[Finish]:
        began = time.perf_counter()
        with bound(**_ids(request)), span("request", method=request.method or ""):
            yield partial(_noted, request, began)


def _ids(request: HttpRequest) -> dict[str, Value]:
    given = request.headers.get(HEADER, "")
    name = given if NAME.fullmatch(given) else uuid4().hex[:16]
    request.META["tourney.request_id"] = name

    def place(what: str) -> Callable[[], str]:
        return lambda: str((request.resolver_match.kwargs if request.resolver_match else {}).get(what, ""))

    ids: dict[str, Value] = {"request": name, "user": lambda: user_of(request)}
    return ids | {one.removesuffix("_id"): place(one) for one in IDS}


def user_of(request: HttpRequest) -> str:
    """The id of who asks, where that is known by now: a log line must not cause a query."""
    user = request.__dict__.get("user")
    if isinstance(user, SimpleLazyObject) and user.__dict__["_wrapped"] is empty:
        return ""
    return str(getattr(user, "pk", None) or "")


def _noted(request: HttpRequest, began: float, response: HttpResponseBase) -> HttpResponseBase:
    seconds = time.perf_counter() - began
    route = request.resolver_match.route if request.resolver_match else "(unknown)"
    # A method that nobody has defined is a stranger's text.
    method = request.method if request.method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE") else "other"
    metrics.requests.labels(method, route, response.status_code).inc()
    metrics.request_seconds.labels(route).observe(seconds)
    response.headers[HEADER] = request.META["tourney.request_id"]
    if settings.LOG_REQUESTS:
        fields = {"route": route, "method": method, "status": response.status_code, "ms": round(seconds * 1000)}
        log.info("request", extra={"fields": fields})
    return response
