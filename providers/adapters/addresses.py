"""Where requests may go. An operator of a shared server forbids addresses of its own network, so that nobody who may
add an endpoint can reach, through Tourney, what was meant to be reached from inside only (SSRF).

The address that is connected to is the one that was looked at, so that a name whose answer changes in between gains
nothing. Source: OWASP, Server-Side Request Forgery Prevention Cheat Sheet.
"""

import asyncio
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpcore2
import httpx2

from providers.adapters.base import AddressRule

# IPv6 in whose last 32 bits an IPv4 address stands: NAT64 (RFC 6052), SIIT (RFC 7915), IPv4-compatible (RFC 4291).
CARRIERS = tuple(map(ip_network, ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")))
# Public by their number, and yet inside: where the clouds of Azure and Oracle answer machines about themselves, and a
# network's own NAT64 (RFC 8215).
INSIDE = tuple(map(ip_network, ("168.63.129.16/32", "192.0.0.192/32", "64:ff9b:1::/48")))


class AddressForbidden(httpcore2.ConnectError):
    """The operator's settings do not let requests go there."""


def is_allowed(address: str, rule: AddressRule) -> bool:
    """Whether requests may go to this IP address."""
    if rule == "allow":
        return True
    ip: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        # An IPv4 address in the clothes of IPv6 is judged as what it is.
        ip = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else ip)
    if isinstance(ip, IPv6Address) and not ip.is_loopback and any(ip in network for network in CARRIERS):
        ip = IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip.is_loopback:
        return rule == "loopback"
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in INSIDE)


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to allowed addresses only."""

    def __init__(self, inner: httpcore2.AsyncNetworkBackend, rule: AddressRule) -> None:
        self._inner = inner
        self._rule = rule

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 # httpcore's own signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
        allowed = [address for address in addresses if is_allowed(address, self._rule)]
        if not allowed:
            raise AddressForbidden(f"{host} is an address of a private network, which PRIVATE_ENDPOINTS forbids")
        failure: Exception | None = None
        for address in allowed:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        raise AddressForbidden("sockets of this machine are not endpoints")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


def guarded(transport: httpx2.AsyncHTTPTransport, rule: AddressRule) -> httpx2.AsyncHTTPTransport:
    """The transport, which now connects to allowed addresses only."""
    if rule != "allow":
        pool: Any = transport._pool  # httpx has no public way to name a backend
        pool._network_backend = GuardedBackend(pool._network_backend, rule)
    return transport
