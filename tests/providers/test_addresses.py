"""Where requests to models may go (SSRF)."""

import pytest
from django.core.exceptions import ValidationError
from pytest_django import Settings

from providers.adapters.addresses import is_allowed
from providers.adapters.base import ErrorKind, Message, ProviderError, Sampling, Target
from providers.adapters.registry import ADAPTERS
from providers.selectors import target_of
from providers.validators import may_be_asked
from tests import factories
from tests.fakes.upstream import Upstream


@pytest.mark.parametrize(
    ("address", "allowed_by"),
    [
        ("93.184.216.34", "allow loopback forbid"),
        ("2606:2800:220:1:248:1893:25c8:1946", "allow loopback forbid"),
        ("127.0.0.1", "allow loopback"),
        ("127.8.9.1", "allow loopback"),
        ("::1", "allow loopback"),
        ("::ffff:127.0.0.1", "allow loopback"),
        ("10.1.2.3", "allow"),
        ("172.16.0.1", "allow"),
        ("192.168.1.1", "allow"),
        ("169.254.169.254", "allow"),
        ("::ffff:169.254.169.254", "allow"),
        ("2002:a9fe:a9fe::", "allow"),
        ("fd00::1", "allow"),
        ("fe80::1%eth0", "allow"),
        ("0.0.0.0", "allow"),
        ("100.64.0.1", "allow"),
        ("224.0.0.1", "allow"),
        ("64:ff9b::a9fe:a9fe", "allow"),
        ("64:ff9b::5db8:d822", "allow loopback forbid"),
        ("64:ff9b:1::5db8:d822", "allow"),
        ("::ffff:0:10.1.2.3", "allow"),
        ("::10.1.2.3", "allow"),
        ("::7f00:1", "allow loopback"),
        ("::", "allow"),
        ("168.63.129.16", "allow"),
        ("192.0.0.192", "allow"),
    ],
)
def test_an_address_is_judged_by_what_it_is(address: str, allowed_by: str) -> None:
    assert " ".join(rule for rule in ("allow", "loopback", "forbid") if is_allowed(address, rule)) == allowed_by  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", list(ADAPTERS))
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_no_wire_reaches_a_forbidden_address(upstream: Upstream, kind: str, host: str) -> None:
    url = upstream.url.replace("127.0.0.1", host)
    target = Target(kind, url, "steady", addresses="forbid")
    with pytest.raises(ProviderError, match="PRIVATE_ENDPOINTS forbids") as caught:
        async for _ in ADAPTERS[kind].stream(target, [Message("user", "Hi")], Sampling()):
            pass
    assert caught.value.kind is ErrorKind.CONNECTION


async def test_an_engine_on_this_machine_is_reached_where_loopback_is_allowed(upstream: Upstream) -> None:
    target = Target("openai", upstream.url, "steady", addresses="loopback")
    assert [event async for event in ADAPTERS["openai"].stream(target, [Message("user", "Hi")], Sampling())]


@pytest.mark.django_db
def test_the_embedded_engine_is_asked_whatever_the_rule(settings: Settings) -> None:
    settings.PRIVATE_ENDPOINTS = "forbid"
    own = f"http://127.0.0.1:{settings.EMBEDDED_PORT}/v1"
    may_be_asked(own)
    rules = {
        url: target_of(factories.endpoint(base_url=url)).addresses
        for url in (own, own + "/", own.replace("127.0.0.1", "localhost"), "https://api.example/v1")
    }
    assert [url for url, rule in rules.items() if rule == "allow"] == [own]


@pytest.mark.parametrize("url", ["ftp://host/v1", "file:///etc/passwd", "https://name:key@host/v1", "http://[", "http"])
def test_an_address_that_is_none_is_refused_whatever_the_rule(url: str) -> None:
    with pytest.raises(ValidationError):
        may_be_asked(url)


def test_a_forbidden_address_is_refused_when_it_is_saved(settings: Settings) -> None:
    may_be_asked("http://127.0.0.1:8000/v1")
    settings.PRIVATE_ENDPOINTS = "forbid"
    for url in ("http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]/v1", "http://169.254.169.254/latest"):
        with pytest.raises(ValidationError, match="private network"):
            may_be_asked(url)
    may_be_asked("http://93.184.216.34/v1")
    may_be_asked("http://name.invalid/v1")
