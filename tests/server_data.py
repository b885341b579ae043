"""Fills a test server's database: one model for each script of the fake upstream, and people who are logged in.

Run as `python -m tests.server_data UPSTREAM_URL ACCOUNTS` with the server's environment; prints JSON.
"""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
django.setup()

from django.conf import settings  # noqa: E402 - Django must be set up first
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402

from accounts.models import Scope, User  # noqa: E402
from accounts.services import apikey_issue  # noqa: E402
from battles.services import prompts_seed  # noqa: E402
from conversations.services import scenarios_seed  # noqa: E402
from providers.keys import endpoint_key_set  # noqa: E402
from providers.models import Endpoint, LanguageModel  # noqa: E402
from tests.fakes.scripts import SCRIPTS  # noqa: E402

# Words that occur nowhere but in the catalogue of the test server.
CLUES = ("axolotl", "pangolin")
UPSTREAM_KEY = "sk-axolotl-0123456789"
WIRE_SCRIPTS = (
    "steady", "other", "thinker", "slow", "dies", "error-in-stream", "refuses-401", "missing-404", "always-429",
    "overloaded-529", "broken-500", "eyes",
)  # fmt: skip
NARROW_SCRIPTS = ("held", "held-too")


def main(upstream_url: str, accounts: int) -> None:
    _endpoint("axolotl", "Axolotl", SCRIPTS, base_url=upstream_url)
    # The upstream wants a key on the other wires.
    _endpoint("axolotl-anthropic", "Axolotl on Anthropic's wire", WIRE_SCRIPTS, kind="anthropic", base_url=upstream_url)
    _endpoint("axolotl-gemini", "Axolotl on Gemini's wire", WIRE_SCRIPTS, kind="gemini", base_url=f"{upstream_url}beta")
    # One at a time, and what it is asked takes as long as a test wants.
    _endpoint(
        "axolotl-narrow", "Narrow axolotl", NARROW_SCRIPTS, base_url=upstream_url, max_streams=1, first_token_timeout=60
    )
    prompts_seed()
    scenarios_seed()
    people = [_account(f"person{number}", is_staff=number == 0) for number in range(accounts)]
    print(json.dumps({"cookie_name": settings.SESSION_COOKIE_NAME, "accounts": people}))


def _endpoint(slug: str, name: str, scripts: Iterable[str], **fields: Any) -> None:
    """An endpoint with a model for each script."""
    timeouts = {"first_token_timeout": 2, "idle_timeout": 2}
    endpoint = Endpoint.objects.create(slug=f"{slug}-endpoint", name=f"{name} endpoint", **timeouts | fields)
    if "kind" in fields:
        endpoint_key_set(endpoint=endpoint, key=UPSTREAM_KEY)
    LanguageModel.objects.bulk_create(
        LanguageModel(
            endpoint=endpoint,
            slug=f"{slug}-{script}",
            name=f"{name} {script}",
            upstream_id=script,
            organisation="Pangolin Labs",
            input_price=1,
            output_price=2,
            sees_images=script in ("steady", "other", "eyes"),
            # Only these are drawn where a test names no models.
            sampling_weight=1 if slug == "axolotl" and script in ("steady", "other") else 0,
        )
        for script in scripts
    )


def _account(username: str, *, is_staff: bool) -> dict[str, str]:
    user = User.objects.create(username=username, is_staff=is_staff, is_superuser=is_staff)
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    scopes = [scope for scope in Scope.values if is_staff or scope != Scope.ADMIN]
    _, key = apikey_issue(user=user, name="test", scopes=scopes)
    return {"username": username, "session_key": str(session.session_key), "api_key": key}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
