"""Brings votes from elsewhere into a board of their own."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from battles.imports.battles import battles_import
from common.audit import Deed, note
from common.errors import TourneyError


class Command(BaseCommand):
    help = "Import battles in Chatbot Arena's shape: JSON, JSON Lines or CSV, perhaps packed with gzip."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--board", required=True, help="Slug; made if it is new.")
        parser.add_argument("--dry-run", action="store_true", help="Only check, and say what would come.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with options["file"].open("rb") as file:
                done = battles_import(file=file, board=options["board"], is_dry_run=options["dry_run"])
        except (TourneyError, OSError) as error:
            raise CommandError(str(error)) from error
        if done.new is not None:
            detail = {"file": options["file"].name, "new": done.new}
            note(Deed(actor_id=None, action="battles_import", subject=options["board"], detail=detail))
        outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in done.outcomes.most_common())
        self.stdout.write(f"{done.rows:,} rows on {len(done.models)} models: {outcomes}")
        if done.unknown:
            self.stdout.write(f"{len(done.unknown)} models were not in the catalogue: {', '.join(done.unknown)}")
        self.stdout.write("Nothing was stored." if done.new is None else f"{done.new:,} new")
