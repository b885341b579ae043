"""Makes a backup while everything runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from arena_project.backup import BackupProblem, backup_check, backup_make, backups_prune, summary


class Command(BaseCommand):
    help = "Write database and stored files into a new folder in DIR; the server may run meanwhile."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR")
        parser.add_argument("--keep", type=int, metavar="N", help="then delete all but the newest N backups in DIR")
        parser.add_argument(
            "--with-secrets", action="store_true", help="the two secrets, too: the backup can then read endpoints' keys"
        )

    def handle(self, *args: Any, folder: Path, keep: int | None, with_secrets: bool, **options: Any) -> None:
        if keep is not None and keep < 1:
            raise CommandError("--keep must be 1 or more.")
        try:
            made = backup_make(folder=folder, with_secrets=with_secrets)
            figures = summary(backup_check(made))
        except BackupProblem as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(f"{made}: " + ", ".join(f"{count:,} {name}" for name, count in figures.items()))
        for old in backups_prune(folder=folder, keep=keep) if keep else []:
            self.stdout.write(f"deleted {old}")
