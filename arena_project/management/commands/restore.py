"""Puts a backup back."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from arena_project.backup import BackupProblem, backup_check, backup_restore, nothing_runs, summary


class Command(BaseCommand):
    help = "Check a backup, put it in place of what is here, and count what is there. Stop the server first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="BACKUP")
        parser.add_argument("--replace", action="store_true", help="overwrite a database that holds people already")
        parser.add_argument("--check", action="store_true", help="only compare the backup with its digests")

    def handle(self, *args: Any, folder: Path, replace: bool, check: bool, **options: Any) -> None:
        try:
            if check:
                manifest = backup_check(folder)
            else:
                with nothing_runs(settings.VAR):
                    manifest = backup_restore(folder=folder, replace=replace)
        except BackupProblem as problem:
            raise CommandError(str(problem)) from problem
        figures = ", ".join(f"{count:,} {name}" for name, count in summary(manifest).items())
        self.stdout.write(f"{folder} of {manifest.made_at}, Tourney {manifest.version}: {figures}. All is there.")
        if not check:
            call_command("migrate", interactive=False, verbosity=0)
            self.stdout.write("The tables are those of this version. Start the server.")
