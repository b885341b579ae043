"""What may stand in a field of providers."""

import json
import re
import socket
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from providers.adapters.addresses import is_allowed
from providers.adapters.base import AddressRule, Quirks
from providers.secret_names import is_ours

# Source: RFC 9110, 5.1 and 5.5.
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADER_TEXT = re.compile(r"[\x20-\x7e\t]*")


def holds_no_secret_of_ours(variable: str) -> None:
    """Raises ValidationError for a variable of Tourney's own: whoever may edit endpoints could have it sent to any
    server."""
    if is_ours(variable):
        raise ValidationError(_("%(variable)s is Tourney's own and is never sent."), params={"variable": variable})


def are_quirks(value: Any) -> None:
    """Raises ValidationError for anything that is not the fields of Quirks."""
    try:
        msgspec.convert(value, Quirks)
    except msgspec.ValidationError as error:
        raise ValidationError(_("These are no quirks: %(error)s"), params={"error": str(error)}) from error
    for name, text in value.get("extra_headers", {}).items():
        if not HEADER_NAME.fullmatch(name) or not HEADER_TEXT.fullmatch(text):
            raise ValidationError(_("%(name)s is no header that can be sent."), params={"name": repr(name)})
    if "\\u0000" in json.dumps(value):
        raise ValidationError(_("PostgreSQL stores no NUL."))


def are_tags(value: Any) -> None:
    """Raises ValidationError for anything that is not a list of words."""
    if not isinstance(value, list) or not all(isinstance(tag, str) and tag.strip() == tag != "" for tag in value):
        raise ValidationError(_("These are no tags: write a list of words."))


def may_be_asked(url: str) -> None:
    """Raises ValidationError for an address that is not asked: one of another scheme, with a password in it (it would
    be shown and logged), or where the operator forbids what its host stands for."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValidationError(_("Enter a valid URL.")) from error
    if parts.scheme not in ("http", "https"):
        raise ValidationError(_("The address must begin with https:// or http://."))
    if parts.username is not None or parts.password is not None:
        raise ValidationError(_("A password does not belong into the address; the key has a field of its own."))
    _is_allowed_host(parts, address_rule(url))


def address_rule(url: str) -> AddressRule:
    """What holds for an endpoint of this address: the operator's rule. The engine that Tourney itself starts is
    allowed whatever the rule, under exactly its own address."""
    rule: AddressRule = settings.PRIVATE_ENDPOINTS
    return "allow" if url == f"http://127.0.0.1:{settings.EMBEDDED_PORT}/v1" else rule


def _is_allowed_host(parts: SplitResult, rule: AddressRule) -> None:
    """Raises ValidationError for an address of a private network where the rule forbids them. What a name stands
    for may change, so it is looked at again with every connection."""
    if rule == "allow":
        return
    try:
        host = parts.hostname or ""
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except (OSError, ValueError):
        return  # a name that is not known now; asking it will say so
    if not any(is_allowed(address, rule) for address in found):
        raise ValidationError(_("This is an address of a private network, which the operator forbids."))
