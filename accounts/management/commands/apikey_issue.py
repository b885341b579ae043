"""Make an API key: `manage.py apikey_issue NAME --scopes read,run,vote [--create-user]`."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from accounts import services
from accounts.errors import ScopeNotGrantable
from accounts.models import Scope, User


class Command(BaseCommand):
    help = "Makes an API key for the user NAME and prints it alone on the last line. It is shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="the user's name")
        parser.add_argument(
            "--scopes", required=True, help=f"what the key may do, separated by commas: {', '.join(Scope.values)}"
        )
        parser.add_argument("--create-user", action="store_true", help="make the user if there is none of that name")
        parser.add_argument("--label", default="command line", help="what the key is called on the account page")

    def handle(self, *args: Any, name: str, scopes: str, create_user: bool, label: str, **options: Any) -> None:
        wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
        if unknown := [scope for scope in wanted if scope not in Scope.values]:
            raise CommandError(f"There is no scope {', '.join(unknown)}. There are: {', '.join(Scope.values)}.")
        user = User.objects.filter(username=name).first()
        if user is None:
            if not create_user:
                raise CommandError(f"There is no user “{name}”. Add --create-user to make one.")
            try:
                user = services.user_make(name=name, is_staff=Scope.ADMIN in wanted)
            except ValidationError as error:
                raise CommandError(" ".join(error.messages)) from error
            self.stdout.write(f"Made the user {name}.")
        try:
            _key, text = services.apikey_issue(user=user, name=label, scopes=wanted)
        except ScopeNotGrantable as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"A key for {name} that may {', '.join(wanted)}:")
        self.stdout.write(text)
