"""Loads the prompts that come with Tourney."""

from typing import Any

from django.core.management.base import BaseCommand

from battles.services import prompts_seed


class Command(BaseCommand):
    help = "Load the prompts that come with Tourney, unless they are there."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{prompts_seed()} prompts added")
