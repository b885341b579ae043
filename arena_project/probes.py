"""`/healthz`, `/readyz` and `/metrics`, answered before Django: they ask no session, know no host names (a load
balancer calls by address), and the first needs no thread: a server whose database hangs is still seen to live."""

import hmac
import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings

from arena_project import __version__
from arena_project.backlog import BacklogCollector
from arena_project.readiness import OK, readiness
from common.metrics import exposition
from common.proxies import is_among, networks_of

Headers = Iterable[tuple[bytes, bytes]]
METRICS_TYPE = b"text/plain; version=0.0.4; charset=utf-8"


class Probes:
    """An ASGI application before another one."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self.answers = {"/healthz": alive, "/readyz": ready, "/metrics": measured}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        answer = self.answers.get(scope["path"]) if scope["type"] == "http" else None
        if answer is None:
            return await self.application(scope, receive, send)
        if scope["method"] not in ("GET", "HEAD"):
            status, kind, body = HTTPStatus.METHOD_NOT_ALLOWED, b"text/plain", b""
        else:
            status, kind, body = await answer(scope)
        headers = [(b"content-type", kind), (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": int(status), "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


Answer = tuple[HTTPStatus, bytes, bytes]


async def alive(scope: Any) -> Answer:
    """The process runs and its event loop turns; nothing else is asked."""
    return _json(HTTPStatus.OK, {"status": OK, "version": __version__})


async def ready(scope: Any) -> Answer:
    """Whether requests may be sent here: every part that is needed, with `ok` or the reason; 503 where one is not."""
    checks = await readiness()
    is_ready = all(state == OK for state in checks.values())
    status = HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    return _json(status, {"status": "ready" if is_ready else "not ready", "checks": checks})


async def measured(scope: Any) -> Answer:
    """The metrics of all processes of this host, for whoever has the token or comes from a named address."""
    if not (settings.METRICS_TOKEN or settings.METRICS_FROM):
        return _text(HTTPStatus.NOT_FOUND, "Metrics are off: set METRICS_TOKEN or METRICS_FROM.")
    if not may_measure(scope):
        return _text(HTTPStatus.UNAUTHORIZED, "Send Authorization: Bearer METRICS_TOKEN.")
    text = await sync_to_async(exposition, thread_sensitive=False)(BacklogCollector())
    return HTTPStatus.OK, METRICS_TYPE, text


def may_measure(scope: Any) -> bool:
    client = scope.get("client")
    if client and is_among(client[0], networks_of(settings.METRICS_FROM)):
        return True
    given = dict(scope["headers"]).get(b"authorization", b"")
    expected = f"Bearer {settings.METRICS_TOKEN}".encode()
    return bool(settings.METRICS_TOKEN) and hmac.compare_digest(given, expected)


def _json(status: HTTPStatus, body: dict[str, Any]) -> Answer:
    return status, b"application/json", json.dumps(body).encode()


def _text(status: HTTPStatus, words: str) -> Answer:
    return status, b"text/plain; charset=utf-8", words.encode()
