import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection

from arena_project import checks, setup

LOCK = 0x7075726E6579  # any number that nothing else on this database uses


class Command(BaseCommand):
    help = (
        "Brings database, static files and seeds up to date, for a deployment that starts its processes itself "
        "(`manage.py run` does it by itself). Safe to run again, and by several hosts at once."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            checks.check_database()
            checks.check_redis()
        except checks.EnvironmentProblem as problem:
            sys.exit(str(problem))
        if settings.STATIC_ROOT.is_relative_to(settings.VAR):  # an image brings its own, and cannot be written
            setup.static_collect(self.stdout.write)
        with alone():
            setup.database_migrate(self.stdout.write)
            setup.data_seed()
            link = setup.first_login_link()
        self.stdout.write("Everything is up to date.")
        if link:
            self.stdout.write(f"Log in without a password (works once, for the administrator):\n{link}")


@contextmanager
def alone() -> Iterator[None]:
    """Let only one at a time in, of all hosts on this PostgreSQL; SQLite has one host, and locks by itself."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
