"""Writes a run as FastChat's files."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evaluations.models import Run
from evaluations.services import run_export


class Command(BaseCommand):
    help = "Write a run's questions, references, answers and judgments in FastChat's layout."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the run")
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, name: str, folder: Path, **options: Any) -> None:
        run = Run.objects.filter(name=name).first()
        if run is None:
            raise CommandError(f"There is no run {name}.")
        try:
            for path in run_export(run=run, folder=folder):
                self.stdout.write(str(path))
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}.") from error
