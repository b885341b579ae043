"""Says which models are at hand already."""

from typing import Any

from django.core.management.base import BaseCommand

from providers.services import discoveries_update


class Command(BaseCommand):
    help = "Look for model servers on this machine and for keys in the environment, and say how to enable them."

    def handle(self, *args: Any, **options: Any) -> None:
        found = discoveries_update()
        for discovery in found:
            self.stdout.write(f"{discovery.name}: {discovery.what}\n  {discovery.how}")
        if not found:
            self.stdout.write("Nothing was found: no model server on this machine, no known key in the environment.")
