"""Reads of people and keys."""

import hashlib
import secrets

from accounts.models import ApiKey, User

KEY_START = "tny"


def digest_of(secret: str) -> str:
    """SHA-256 in hexadecimal. A plain hash is enough, since the secret is 256 random bits and not a password."""
    return hashlib.sha256(secret.encode()).hexdigest()


def apikey_find(key: str) -> ApiKey | None:
    """The usable key that was shown as `tny_<prefix>_<secret>`, with its user; None for any other text."""
    start, _, rest = key.partition("_")
    prefix, _, secret = rest.partition("_")
    # Only ASCII can match, and PostgreSQL refuses NUL.
    if start != KEY_START or not prefix.isalnum() or not prefix.isascii() or not secret.isascii():
        return None
    found = ApiKey.objects.usable().select_related("user").filter(prefix=prefix).first()
    if found is None or not secrets.compare_digest(found.digest, digest_of(secret)):
        return None
    return found


def apikeys_of(user: User) -> list[ApiKey]:
    """A person's keys that still work, newest first."""
    return list(ApiKey.objects.usable().filter(user=user))
