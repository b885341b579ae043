"""The ASGI application: pages and API by Django, WebSockets by Channels."""

import os
from typing import Any, cast

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
django_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402 - after the apps are loaded
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.urls import path  # noqa: E402

from battles.consumers import BattleConsumer  # noqa: E402

# Django's types know no ASGI applications in a path.
websocket_routes: list[Any] = [path("ws/battles/<uuid:battle_id>/", cast(Any, BattleConsumer.as_asgi()))]

application = ProtocolTypeRouter(
    {
        "http": django_application,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_routes))),
    }
)
