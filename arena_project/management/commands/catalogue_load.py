"""Loads endpoints, models, prices and prompts from a file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from arena_project.catalogue import catalogue_file, catalogue_load
from common.yaml_lines import FileInvalid


class Command(BaseCommand):
    help = "Load endpoints, models, prices and prompts from a YAML file; all of it or, if a line is wrong, nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--dry-run", action="store_true", help="only say what would change")

    def handle(self, *args: Any, file: Path, dry_run: bool, **options: Any) -> None:
        try:
            report = catalogue_load(text=catalogue_file(file), dry_run=dry_run)
        except FileInvalid as error:
            raise CommandError(f"{file.name} was not loaded:\n" + "\n".join(error.problems)) from error
        for name in report.added:
            self.stdout.write(f"+ {name}")
        for name in report.changed:
            self.stdout.write(f"~ {name}")
        self.stdout.write(f"{report}{' (dry run: nothing was stored)' if dry_run else ''}")
