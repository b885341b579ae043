"""Who may open a WebSocket: pages of this very server only."""

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier


class SameOrigin:
    """An ASGI application that refuses a handshake whose Origin is not the Host that was asked, port included.

    A browser sends the session cookie from every port of a host, so that comparing host names would not do. Whether
    the Host is one of ours is for AllowedHostsOriginValidator, around this.
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        headers = dict(scope["headers"])
        origin = urlsplit(headers.get(b"origin", b"").decode("latin-1"))
        is_same = origin.netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower()
        return await (self.application if is_same else WebsocketDenier())(scope, receive, send)
