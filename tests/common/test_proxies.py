"""Whose word is believed about where a request comes from."""

from typing import Any

import pytest
from django.test import Client

from common.proxies import TrustedProxies

PROXIES = ["127.0.0.0/8", "::1", "10.0.0.0/8"]


async def seen(peer: str, *forwarded: str, trusted: list[str] = PROXIES, proto: str = "https") -> tuple[str, set[str]]:
    """The client's address, and the names of the headers, as the application behind sees them."""
    found: dict[str, Any] = {}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        found.update(scope)

    headers = [(b"host", b"arena"), (b"x-forwarded-proto", proto.encode()), (b"forwarded", b"for=1.2.3.4")]
    headers += [(b"X-Forwarded-For", value.encode()) for value in forwarded]
    scope = {"type": "http", "client": [peer, 1234], "headers": headers}
    await TrustedProxies(application, trusted=trusted)(scope, None, None)
    return found["client"][0], {name.decode().lower() for name, _ in found["headers"]}


async def test_a_stranger_is_not_believed_and_their_headers_are_gone() -> None:
    assert await seen("203.0.113.9", "198.51.100.1") == ("203.0.113.9", {"host"})


async def test_nobody_is_believed_where_no_proxy_is_named() -> None:
    assert await seen("127.0.0.1", "198.51.100.1", trusted=[]) == ("127.0.0.1", {"host"})


async def test_a_proxy_is_believed() -> None:
    assert await seen("127.0.0.1", "203.0.113.9") == ("203.0.113.9", {"host", "x-forwarded-for", "x-forwarded-proto"})


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("127.0.0.1", ["198.51.100.1, 203.0.113.9"], "203.0.113.9"),  # the first was written by the client
        ("127.0.0.1", ["198.51.100.1", "203.0.113.9, 10.0.0.7"], "203.0.113.9"),  # two proxies, two headers
        ("127.0.0.1", ["127.0.0.1, 203.0.113.9"], "203.0.113.9"),
        ("::1", ["2001:db8::1"], "2001:db8::1"),
        ("127.0.0.1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("127.0.0.1", ["203.0.113.9:5555"], "203.0.113.9"),
        ("::ffff:127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["203.0.113.9, unknown"], "127.0.0.1"),  # what cannot be read is not passed over
        ("127.0.0.1", ["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
        ("127.0.0.1", [], "127.0.0.1"),
    ],
)
async def test_the_client_is_the_last_address_that_no_proxy_has(peer: str, forwarded: list[str], client: str) -> None:
    assert (await seen(peer, *forwarded))[0] == client


@pytest.mark.django_db
def test_a_header_does_not_lift_the_limit_of_who_writes_it(settings: Any, client: Client) -> None:
    settings.API_REQUESTS_PER_MINUTE = 2
    codes = [
        client.get("/api/v1/health/", headers={"X-Forwarded-For": f"198.51.100.{n}"}).status_code for n in range(4)
    ]
    assert codes[-1] == 429 or 429 in [
        client.get("/api/v1/schema/", headers={"X-Forwarded-For": f"198.51.100.{n}"}).status_code for n in range(3)
    ]
