"""Where requests may go. An operator of a shared server forbids addresses of its own network, so that nobody who may
add an endpoint can reach, through Tourney, what was meant to be reached from inside only (SSRF).

The address that is connected to is the one that was looked at, so that a name whose answer changes in between gains
nothing. Source: OWASP, Server-Side Request Forgery Prevention Cheat Sheet.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from providers.adapters.base import AddressRule

# IPv6 in whose last 32 bits an IPv4 address stands: NAT64 (RFC 6052), SIIT (RFC 7915), IPv4-compatible (RFC 4291).
CARRIERS = tuple(map(ip_network, ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")))
# Public by their number, and yet inside: where the clouds of Azure and Oracle answer machines about themselves, and a
# network's own NAT64 (RFC 8215).
INSIDE = tuple(map(ip_network, ("168.63.129.16/32", "192.0.0.192/32", "64:ff9b:1::/48")))


class AddressForbidden(OSError):
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
