"""Rows for tests: plain typed functions with sensible defaults, each call a new row."""

import itertools
from collections.abc import Collection, Sequence
from typing import Any

from accounts import services as accounts_services
from accounts.models import ApiKey, Scope, User
from battles.models import Battle, Response, Side, Turn
from providers.engines.services import engine_endpoint_sync
from providers.models import Endpoint, Engine, LanguageModel
from tests.ports import free_port

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


def engine(slug: str = "small", **fields: Any) -> Engine:
    """An engine of ours with its endpoint and its model."""
    row = Engine.objects.create(**{"slug": slug, "model": "plain", "port": free_port()} | fields)
    engine_endpoint_sync(engine=row)
    return row


def model_of(row: Engine) -> LanguageModel:
    return LanguageModel.objects.select_related("endpoint").get(endpoint__engine=row)


def battle(
    owner: User | None = None,
    *,
    models: Sequence[LanguageModel] = (),
    prompts: Sequence[str] = ("Why is the sky blue?",),
    status: str = Response.Status.FINISHED,
    **fields: Any,
) -> Battle:
    """A battle of two models whose sides have answered each prompt, unless `status` says otherwise."""
    contenders = list(models) or [language_model(), language_model()]
    fields = {"is_blind": fields.get("mode", Battle.Mode.BLIND) == Battle.Mode.BLIND} | fields
    row = Battle.objects.create(owner=owner or user(), **fields)
    sides = [
        Side.objects.create(battle=row, model=model, label=label) for label, model in zip("ab", contenders, strict=True)
    ]
    for number, prompt in enumerate(prompts, start=1):
        turn = Turn.objects.create(battle=row, number=number, prompt=prompt)
        for side in sides:
            text = f"Answer {number} of side {side.label}." if status == Response.Status.FINISHED else ""
            Response.objects.create(
                turn=turn, side=side, model=side.model, status=status, text=text, latency_ms=1234, first_token_ms=77
            )
    return row
