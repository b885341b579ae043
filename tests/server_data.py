"""Fills a test server's database: one model for each script of the fake upstream, and people who are logged in.

Run as `python -m tests.server_data UPSTREAM_URL ACCOUNTS` with the server's environment; prints JSON.
"""

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
django.setup()

from django.conf import settings  # noqa: E402 - Django must be set up first
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402

from accounts.models import Scope, User  # noqa: E402
from accounts.services import apikey_issue  # noqa: E402
from battles.services import prompts_seed  # noqa: E402
from providers.models import Endpoint, LanguageModel  # noqa: E402
from tests.fakes.scripts import SCRIPTS  # noqa: E402

# Words that occur nowhere but in the catalogue of the test server.
CLUES = ("axolotl", "pangolin")


def main(upstream_url: str, accounts: int) -> None:
    endpoint = Endpoint.objects.create(
        slug="axolotl-endpoint",
        name="Axolotl endpoint",
        base_url=upstream_url,
        first_token_timeout=2,
        idle_timeout=2,
    )
    for script in SCRIPTS:
        LanguageModel.objects.create(
            endpoint=endpoint,
            slug=f"axolotl-{script}",
            name=f"Axolotl {script}",
            upstream_id=script,
            organisation="Pangolin Labs",
            input_price=1,
            output_price=2,
            # Only these are drawn where a test names no models.
            sampling_weight=1 if script in ("steady", "other") else 0,
        )
    prompts_seed()
    people = [_account(f"person{number}", is_staff=number == 0) for number in range(accounts)]
    print(json.dumps({"cookie_name": settings.SESSION_COOKIE_NAME, "accounts": people}))


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
