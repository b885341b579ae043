"""Where a request comes from. Only proxies that the operator names are believed: anybody can write a header."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

Network = IPv4Network | IPv6Network
FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-port", b"forwarded")
BELIEVED = (b"x-forwarded-for", b"x-forwarded-proto")


class TrustedProxies:
    """An ASGI application that sets the client's address from X-Forwarded-For where a trusted proxy has sent the
    request, and takes what others wrote into such headers away."""

    def __init__(self, application: Any, *, trusted: Iterable[str]) -> None:
        self.application = application
        self.networks = networks_of(trusted)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        if scope["type"] in ("http", "websocket"):
            scope = self._checked(scope)
        return await self.application(scope, receive, send)

    def _checked(self, scope: Any) -> Any:
        client = scope.get("client")
        is_proxy = bool(client) and is_among(client[0], self.networks)
        allowed = BELIEVED if is_proxy else ()
        headers = [(n, v) for n, v in scope["headers"] if n.lower() not in FORWARDED or n.lower() in allowed]
        if is_proxy:
            hops = [value.decode("latin-1") for name, value in headers if name.lower() == b"x-forwarded-for"]
            client = [client_of(client[0], ",".join(hops).split(","), self.networks), 0]
        return {**scope, "headers": headers, "client": client}


def networks_of(texts: Iterable[str]) -> list[Network]:
    """Addresses and networks as the settings write them. Raises ValueError."""
    return [ip_network(text.strip(), strict=False) for text in texts if text.strip()]


def client_of(peer: str, hops: Sequence[str], trusted: Sequence[Network]) -> str:
    """The last address before the chain of trusted proxies that ends in `peer`. What stands further to the left in
    `hops` was written by that client, or by proxies that nobody vouches for."""
    for hop in reversed([hop.strip() for hop in hops]):
        address = address_of(hop)
        if address is None:
            return peer
        peer = address
        if not is_among(peer, trusted):
            break
    return peer


def address_of(text: str) -> str | None:
    """The address in `text`, without a port; None where there is none."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return None


def is_among(address: str, networks: Sequence[Network]) -> bool:
    try:
        given = ip_address(address)
    except ValueError:
        return False
    plain = getattr(given, "ipv4_mapped", None) or given
    return any(plain in network for network in networks)
