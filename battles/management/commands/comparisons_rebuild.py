"""Makes the comparisons that come from battles anew."""

from typing import Any

from django.core.management.base import BaseCommand

from battles.services import comparisons_rebuild


class Command(BaseCommand):
    help = "Make the comparisons anew from the votes. Changes nothing when nothing has changed."

    def handle(self, *args: Any, **options: Any) -> None:
        added, changed, removed = comparisons_rebuild()
        self.stdout.write(f"{added} added, {changed} changed, {removed} removed")
