"""Writes the catalogue down as a file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from arena_project.catalogue import catalogue_dump


class Command(BaseCommand):
    help = "Write endpoints, models, prices and prompts as YAML, without keys."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", type=Path, help="a file; without it, to the terminal")

    def handle(self, *args: Any, output: Path | None, **options: Any) -> None:
        if output:
            output.write_text(catalogue_dump(), encoding="utf-8")
        else:
            self.stdout.write(catalogue_dump(), ending="")
