"""Print a link that logs somebody in once: `manage.py login_link NAME`."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts import services
from accounts.models import User


class Command(BaseCommand):
    help = "Prints a link that logs the user NAME in once, within a day."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the user's name")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        user = User.objects.filter(username=name, is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user “{name}”.")
        self.stdout.write(services.login_link_issue(user=user))
