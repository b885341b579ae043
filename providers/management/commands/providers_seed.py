"""Adds the embedded endpoint and its models."""

from typing import Any

from django.core.management.base import BaseCommand

from providers.services import embedded_seed


class Command(BaseCommand):
    help = "Add the embedded endpoint and its models, unless they are there."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{embedded_seed()} models added")
