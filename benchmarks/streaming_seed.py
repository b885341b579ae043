"""Rows for the streaming benchmark, in a database of its own: two models, and people who each have an empty battle.

Prints a JSON list of [battle id, session key]. Run by `benchmarks.streaming` with TOURNEY_VAR set.
"""

import os
import sys
from importlib import import_module

import django
import msgspec


def main(count: int, upstream: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "arena_project.settings")
    django.setup()
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.core.management import call_command

    from accounts.models import User
    from battles.services import battle_create
    from providers.models import Endpoint, LanguageModel

    call_command("migrate", verbosity=0)
    endpoint, _ = Endpoint.objects.get_or_create(slug="bench", defaults={"name": "Bench", "base_url": upstream})
    for name in ("one", "two"):
        LanguageModel.objects.get_or_create(
            slug=name, defaults={"endpoint": endpoint, "name": name, "upstream_id": name}
        )
    store = import_module(settings.SESSION_ENGINE).SessionStore
    rows: list[tuple[str, str]] = []
    for _ in range(count):
        user = User(username=f"reader-{os.urandom(6).hex()}")
        user.set_unusable_password()
        user.save()
        session = store()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        rows.append((str(battle_create(owner=user).id), session.session_key))
    print(msgspec.json.encode(rows).decode())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
