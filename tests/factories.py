"""Rows for tests: plain typed functions with sensible defaults, each call a new row."""

import itertools
from collections.abc import Collection
from typing import Any

from accounts import services as accounts_services
from accounts.models import ApiKey, Scope, User
from providers.models import Endpoint, LanguageModel

PASSWORD = "a long enough password"
ALL_SCOPES = tuple(Scope.values)

_numbers = itertools.count(1)


def user(username: str = "", *, password: str = "", **fields: Any) -> User:
    """A person. Hashing a password is slow, so there is none unless one is given."""
    person = User(username=username or f"person{next(_numbers)}", **fields)
    if password:
        person.set_password(password)
    else:
        person.set_unusable_password()
    person.save()
    return person


def staff(username: str = "", **fields: Any) -> User:
    """An administrator."""
    return user(username, is_staff=True, is_superuser=True, **fields)


def api_key(owner: User | None = None, *, scopes: Collection[str] = ALL_SCOPES, **fields: Any) -> tuple[ApiKey, str]:
    """A key and its text. Without an owner it is an administrator's, who may have every scope."""
    return accounts_services.apikey_issue(
        user=owner or staff(), name=fields.pop("name", "test"), scopes=scopes, **fields
    )


def endpoint(slug: str = "", **fields: Any) -> Endpoint:
    """An endpoint on a loopback port where nobody listens, unless `base_url` says otherwise."""
    slug = slug or f"endpoint-{next(_numbers)}"
    return Endpoint.objects.create(**{"slug": slug, "name": slug, "base_url": "http://127.0.0.1:9/v1"} | fields)


def language_model(slug: str = "", **fields: Any) -> LanguageModel:
    """An active model, on an endpoint of its own unless one is given."""
    slug = slug or f"model-{next(_numbers)}"
    values: dict[str, Any] = {"slug": slug, "name": slug.replace("-", " ").title(), "upstream_id": slug} | fields
    if "endpoint" not in values:
        values["endpoint"] = endpoint()
    return LanguageModel.objects.create(**values)
