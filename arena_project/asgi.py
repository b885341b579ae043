"""The ASGI application: pages and API by Django, WebSockets by Channels."""

import os
import sys
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
from arena_project.web_stop import end_in_good_order  # noqa: E402
from battles.consumers import BattleConsumer  # noqa: E402
from common.origin import SameOrigin  # noqa: E402
from common.proxies import TrustedProxies  # noqa: E402
from common.tracing import tracing_begin  # noqa: E402
from conversations.consumers import ConversationConsumer  # noqa: E402

# Django's types know no ASGI applications in a path.
websocket_routes: list[Any] = [
    path("ws/battles/<uuid:battle_id>/", cast(Any, BattleConsumer.as_asgi())),
    path("ws/conversations/<uuid:conversation_id>/", cast(Any, ConversationConsumer.as_asgi())),
]


def bound_requests() -> None:
    """Under daphne. Behind another server, that one has limits of its own."""
    protocol = sys.modules.get("daphne.http_protocol")
    if protocol is not None:
        from arena_project.web_request import BoundedRequest

        cast(Any, protocol).WebRequest = BoundedRequest


end_in_good_order()
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
