"""Which models an endpoint offers, and whether it can be reached at all: in words for whoever sets it up."""

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import monotonic
from urllib.parse import urlsplit

import httpx2
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from providers.adapters.addresses import AddressForbidden
from providers.adapters.base import ErrorKind, ProviderError, Target
from providers.adapters.model_lists import LIST_SECONDS, NoList, UpstreamModel, models_of

__all__ = ["ConnectionReport", "UpstreamModel", "connection_check", "models_of"]

# What the addresses of each wire end in.
VERSION_PATHS = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
DETAIL_MAX_CHARACTERS = 500
NO_ADDRESS = (ValueError, OverflowError, httpx2.UnsupportedProtocol)


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """What came of a look at an endpoint. `detail` holds the upstream's own words without the key: show it to
    administrators only, and escaped. `latency_ms` is how long the answer took."""

    is_ok: bool
    sentence: str
    models: tuple[UpstreamModel, ...] = ()
    latency_ms: int | None = None
    detail: str = ""


async def connection_check(target: Target) -> ConnectionReport:
    """Ask the endpoint for its models, and say in a sentence what is wrong where that fails. Raises nothing."""
    began = monotonic()
    try:
        models = tuple(await models_of(target))
    except ProviderError as error:
        sentence = await _what_is_wrong(target, error)
        detail = _without_key(error.detail, target.api_key)
        is_answered = isinstance(error, NoList)
        return ConnectionReport(False, sentence, (), _milliseconds(began) if is_answered else None, detail)
    latency_ms = _milliseconds(began)
    if not models:
        return ConnectionReport(True, _("The endpoint answers, but offers no model yet."), (), latency_ms)
    sentence = ngettext(
        "The endpoint answers and offers %(count)d model.",
        "The endpoint answers and offers %(count)d models.",
        len(models),
    ) % {"count": len(models)}
    if target.api_key and await _is_public(target):
        sentence += " " + _("It shows them without a key, too, so this does not say whether the key is right.")
    return ConnectionReport(True, sentence, models, latency_ms)


def _milliseconds(began: float) -> int:
    return round((monotonic() - began) * 1000)


def _without_key(words: str, key: str) -> str:
    return (words.replace(key, "…") if key else words)[:DETAIL_MAX_CHARACTERS]


async def _is_public(target: Target) -> bool:
    try:
        return bool(await models_of(replace(target, api_key="")))
    except ProviderError:
        return False


async def _what_is_wrong(target: Target, error: ProviderError) -> str:
    if isinstance(error, NoList):
        return await _what_was_answered(target, error)
    host = {"host": _host(target.base_url)}
    if error.kind is ErrorKind.AUTH:
        return _("The key holds a character that no key can have. Was it pasted whole, and nothing else with it?")
    if error.kind is ErrorKind.BAD_REQUEST:
        return _("The address or the key holds a character that cannot be sent.")
    causes = list(_causes(error))
    for kind, sentence in (
        (AddressForbidden, _("%(host)s is in a private network, where this installation asks nobody.")),
        (socket.gaierror, _("There is no host called %(host)s. Is the name spelled right?")),
        (ConnectionRefusedError, _("Nothing listens at %(host)s. Is the service running, and the port right?")),
        (ssl.SSLCertVerificationError, _("The certificate of %(host)s is not trusted by this machine.")),
        (ssl.SSLError, _("%(host)s does not speak TLS as it should. Should the address begin with http://?")),
    ):
        if any(isinstance(cause, kind) and not isinstance(cause, ssl.SSLWantReadError) for cause in causes):
            return sentence % host
    if error.kind is ErrorKind.TIMEOUT:
        return _("%(host)s did not answer in time (%(seconds)d s).") % {**host, "seconds": LIST_SECONDS}
    if not host["host"] or any(isinstance(cause, NO_ADDRESS) for cause in causes):
        return _("This is no address: it must look like https://api.example.org/v1.")
    return _("The connection to %(host)s was lost or refused. Is it a web service?") % host


def _host(address: str) -> str:
    """Host and port as written; empty for what is no address."""
    try:
        return urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        return ""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and all that led to it."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                yield from _causes(inner)
        error = error.__cause__ or error.__context__


async def _what_was_answered(target: Target, error: NoList) -> str:
    if error.moved_to:
        return _("The service has moved: it sends us on to %(address)s. Use that address.") % {
            "address": error.moved_to.removesuffix("/models")
        }
    if error.kind is ErrorKind.AUTH and not error.is_page:
        if target.api_key:
            return _("The service does not accept the key.")
        return _("The service wants a key, and none is set.")
    if error.kind is ErrorKind.RATE_LIMIT:
        return _("The service answers, but has too much to do for us at the moment. Try again in a minute.")
    if error.status >= 500:
        return _("The service fails itself (status %(status)d). Try again later.") % {"status": error.status}
    if suggestion := await _address_that_works(target):
        return _("There are no models at this address, but at %(address)s there are. Use that one.") % {
            "address": suggestion
        }
    if error.is_page:
        return _("A web page answers at this address, not a model service. %(hint)s") % {"hint": _hint(target)}
    if error.status in (404, 405):
        return _("There is no list of models at this address (status %(status)d). %(hint)s") % {
            "status": error.status,
            "hint": _hint(target),
        }
    if error.status == 200:
        return _("Something answers at this address, but not with a list of models. %(hint)s") % {"hint": _hint(target)}
    return _("The service refused to list its models (status %(status)d).") % {"status": error.status}


def _hint(target: Target) -> str:
    return _("The address of such a service usually ends in %(ending)s.") % {
        "ending": VERSION_PATHS.get(target.kind, "/v1")
    }


async def _address_that_works(target: Target) -> str:
    """The address as this wire usually has it, where the one at hand is another and that one answers."""
    parts = urlsplit(target.base_url)
    ending = VERSION_PATHS.get(target.kind, "/v1")
    root = parts.path.rstrip("/").removesuffix("/chat/completions").removesuffix("/messages").removesuffix("/models")
    for path in dict.fromkeys((root, root + ending)):
        address = parts._replace(path=path, query="", fragment="").geturl()
        if address == target.base_url.rstrip("/"):
            continue
        try:
            if await models_of(replace(target, base_url=address)):
                return address
        except ProviderError:
            continue
    return ""
