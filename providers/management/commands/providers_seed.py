"""Adds the embedded endpoint with its models, and the ready entries for known services."""

from typing import Any

from django.core.management.base import BaseCommand

from providers.services import embedded_seed, presets_seed


class Command(BaseCommand):
    help = "Add the embedded endpoint with its models and the ready entries for known services, unless they are there."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{embedded_seed()} models of the embedded engine and {presets_seed()} ready endpoints added")
