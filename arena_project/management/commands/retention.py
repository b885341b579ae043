"""Ends what has been kept long enough."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from arena_project.people.retention import RULES, retention_apply


class Command(BaseCommand):
    help = "Delete what has been kept as long as the settings say, and erase closed accounts; workers do it daily."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        counts = retention_apply(dry_run=dry_run)
        for rule in RULES:
            setting = f" ({rule.setting})" if rule.setting else ""
            kept = "kept for ever" if rule.name not in counts else f"{counts[rule.name]:,}"
            self.stdout.write(f"{rule.name}{setting}: {kept}")
        self.stdout.write("Nothing was changed." if dry_run else "Done.")
