"""The ASGI application: pages and API by Django, WebSockets by Channels."""

import asyncio
import os
import sys
import threading
from typing import Any, cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
django_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402 - after the apps are loaded
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import path  # noqa: E402

from arena_project.backpressure import waits_for_reader  # noqa: E402
from arena_project.probes import Probes  # noqa: E402
from battles.consumers import BattleConsumer  # noqa: E402
from common.origin import SameOrigin  # noqa: E402
from common.proxies import TrustedProxies  # noqa: E402
from common.tracing import tracing_begin  # noqa: E402
from conversations.consumers import ConversationConsumer  # noqa: E402
from providers.live import interrupt_all  # noqa: E402

# Django's types know no ASGI applications in a path.
websocket_routes: list[Any] = [
    path("ws/battles/<uuid:battle_id>/", cast(Any, BattleConsumer.as_asgi())),
    path("ws/conversations/<uuid:conversation_id>/", cast(Any, ConversationConsumer.as_asgi())),
]


THREADS_END_WITHIN_SECONDS = 3.0


def save_before_shutdown() -> None:
    """Let daphne wait until what is being written is stored. It has no lifespan events, so its reactor is asked;
    under another server there is no reactor, and an answer keeps what was saved on the way.

    Once the event loop has ended, Python would wait for the threads of requests that were cut off, and they for the
    loop: it ends all the same, after a moment for those that are still at the database.
    """
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is None:
        return
    from twisted.internet.defer import Deferred

    def save() -> Any:
        return Deferred.fromFuture(asyncio.ensure_future(interrupt_all()))

    def end() -> None:
        timer = threading.Timer(THREADS_END_WITHIN_SECONDS, os._exit, [0])
        timer.daemon = True
        timer.start()

    cast(Any, reactor).addSystemEventTrigger("before", "shutdown", save)
    cast(Any, reactor).addSystemEventTrigger("after", "shutdown", end)


def bound_requests() -> None:
    """Under daphne. Behind another server, that one has limits of its own."""
    protocol = sys.modules.get("daphne.http_protocol")
    if protocol is not None:
        from arena_project.web_request import BoundedRequest

        cast(Any, protocol).WebRequest = BoundedRequest


save_before_shutdown()
bound_requests()

tracing_begin(process="web")

application = TrustedProxies(
    Probes(
        ProtocolTypeRouter(
            {
                "http": waits_for_reader(django_application),
                "websocket": AllowedHostsOriginValidator(SameOrigin(AuthMiddlewareStack(URLRouter(websocket_routes)))),
            }
        )
    ),
    trusted=settings.TRUSTED_PROXIES,
)
