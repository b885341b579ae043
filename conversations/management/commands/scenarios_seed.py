"""Loads the scenarios that come with Tourney."""

from typing import Any

from django.core.management.base import BaseCommand

from conversations.services import scenarios_seed


class Command(BaseCommand):
    help = "Add the scenarios that come with Tourney, where they are missing."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{scenarios_seed()} scenarios added")
