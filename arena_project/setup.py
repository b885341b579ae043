"""What a start does before the processes come up: every step does nothing when there is nothing to do."""

import hashlib
import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts.models import User
from accounts.services import login_link_issue

Say = Callable[[str], None]
SEEDS = ("providers_seed", "prompts_seed", "scenarios_seed", "questions_seed")  # commands, each safe to run again


def database_migrate(say: Say) -> bool:
    """Bring the tables up to date; return whether there was something to do."""
    executor = MigrationExecutor(connection)
    if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return False
    say("Preparing the database …")
    call_command("migrate", interactive=False, verbosity=0)
    return True


def finish(began_at: datetime) -> str:
    """Do what a web server may already run beside; return the first login link, empty where none is needed.

    `began_at` is when this start began.
    """
    leftovers_clear(began_at)
    data_seed()
    return first_login_link()


def data_seed() -> None:
    """Add the models and prompts that Tourney brings along, where they are missing."""
    for command in SEEDS:
        call_command(command, stdout=io.StringIO())


def administrator_ensure() -> User:
    """Return the first administrator, made without a password where there is none yet."""
    administrator = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    return administrator or User.objects.create_superuser("admin", email="", password=None)


def first_login_link() -> str:
    """Return a link that logs the administrator in once; empty as soon as anybody has ever logged in."""
    administrator = administrator_ensure()
    if get_user_model().objects.filter(last_login__isnull=False).exists():
        return ""
    return login_link_issue(user=administrator)


def static_collect(say: Say) -> None:
    """Copy the static files to where they are served from, if any of them changed since the last time."""
    stamp = settings.VAR / "static.collected"
    now = static_fingerprint()
    if stamp.is_file() and stamp.read_text() == now and Path(settings.STATIC_ROOT).is_dir():
        return
    say("Preparing the pages …")
    call_command("collectstatic", interactive=False, verbosity=0, clear=True)
    stamp.write_text(now)


def static_fingerprint() -> str:
    """SHA-256 over path, size and time of every static source."""
    digest = hashlib.sha256()
    for finder in finders.get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def metrics_clear() -> None:
    """Begin to count anew: files of processes that are gone would be read again for ever."""
    for file in Path(settings.METRICS_DIR).glob("*.db"):
        file.unlink(missing_ok=True)


def leftovers_clear(began_at: datetime) -> None:
    """Mark what a dead server left under way as interrupted, and have the leaderboard made if it is out of date.

    What was asked after `began_at` is the new server's own.
    """
    answers_clear(began_at)
    states_refresh()


def answers_clear(before: datetime) -> None:
    """Mark as interrupted what was asked before that moment and is written no more."""
    # Late, because they load what the web server loads at the same time on another core.
    from battles.services import responses_sweep
    from conversations.services import analyses_sweep, conversations_sweep

    responses_sweep(before=before)
    conversations_sweep(before=before)
    analyses_sweep(before=before)


def states_refresh() -> None:
    """Say which engines nobody looks after, and have the leaderboard made if it is out of date."""
    from leaderboard.services import snapshots_request
    from providers.engines.services import engines_unseen_note

    engines_unseen_note()
    snapshots_request()
