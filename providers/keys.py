"""Keys of endpoints: pasted ones are encrypted at rest, with a secret of its own that lies apart from the database, and
each together with the server that it was pasted for: it is sent to no other, however the address came to change."""

import base64
import logging
import os
from urllib.parse import urlsplit

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from providers.adapters.base import ErrorKind, ProviderError
from providers.models import Endpoint

log = logging.getLogger(__name__)

PURPOSE = b"tourney endpoint keys 1"
PORTS = {"http": 80, "https": 443}


def _cipher() -> MultiFernet:
    """Encrypts with the first secret, and decrypts with any."""
    return MultiFernet([Fernet(_derived(secret)) for secret in settings.KEY_ENCRYPTION_SECRETS])


def _derived(secret: str) -> bytes:
    """A Fernet key from a secret of any length. Source: RFC 5869 (HKDF)."""
    kdf = HKDF(algorithm=SHA256(), length=32, salt=None, info=PURPOSE)
    return base64.urlsafe_b64encode(kdf.derive(secret.encode()))


def key_of(endpoint: Endpoint) -> str:
    """The pasted key, else the one in the named environment variable; empty for none.

    Raises ProviderError of kind `auth` for a pasted key that the secret of this installation does not open, or that
    was pasted for another server.
    """
    if not endpoint.encrypted_key:
        return _key_of_environment(endpoint)
    origin, key = _opened(endpoint)
    if origin != origin_of(endpoint.base_url):
        raise ProviderError(ErrorKind.AUTH, f"the stored key was pasted for {origin or 'no server'}; paste it again")
    return key


def origin_of(address: str) -> str:
    """Scheme, host and port: the server that an address leads to. Empty for what is no address."""
    try:
        parts = urlsplit(address)
        return f"{parts.scheme}://{parts.hostname or ''}:{parts.port or PORTS.get(parts.scheme, 0)}"
    except ValueError:
        return ""


def endpoint_key_set(*, endpoint: Endpoint, key: str) -> None:
    """Keep a pasted key, or forget the one there is with "". Saves the endpoint's key fields only."""
    sealed = f"{origin_of(endpoint.base_url)}\n{key.strip()}"
    endpoint.encrypted_key = _cipher().encrypt(sealed.encode()).decode() if key.strip() else ""
    endpoint.has_key = _has_key(endpoint)
    endpoint.save(update_fields=["encrypted_key", "has_key"])


def keys_refresh() -> None:
    """Note for every endpoint whether there is a key for it now: the environment or its address may have changed."""
    for endpoint in Endpoint.objects.all():
        if endpoint.has_key != (has_key := _has_key(endpoint)):
            Endpoint.objects.filter(pk=endpoint.pk).update(has_key=has_key)


@transaction.atomic
def keys_rotate() -> int:
    """Encrypt every pasted key with the first of the secrets; return how many. All or none: raises ProviderError for
    one that no secret opens."""
    endpoints = Endpoint.objects.select_for_update().filter(~Q(encrypted_key=""))
    for endpoint in endpoints:
        _opened(endpoint)
        endpoint.encrypted_key = _cipher().rotate(endpoint.encrypted_key.encode()).decode()
        endpoint.save(update_fields=["encrypted_key"])
    return len(endpoints)


def _opened(endpoint: Endpoint) -> tuple[str, str]:
    """The server that the stored key was pasted for, and the key. Raises ProviderError."""
    try:
        origin, _, key = _cipher().decrypt(endpoint.encrypted_key.encode()).decode().partition("\n")
    except InvalidToken:
        detail = "the stored key cannot be decrypted with KEY_ENCRYPTION_SECRETS; paste it again"
        raise ProviderError(ErrorKind.AUTH, detail) from None
    return origin, key


def _has_key(endpoint: Endpoint) -> bool:
    try:
        return bool(key_of(endpoint))
    except ProviderError as error:
        log.warning("Endpoint %s: %s", endpoint.slug, error.detail)
        return False


def _key_of_environment(endpoint: Endpoint) -> str:
    # Stripped, because a key that was read from a file often ends with a line feed.
    return os.environ.get(endpoint.api_key_variable, "").strip() if endpoint.api_key_variable else ""
