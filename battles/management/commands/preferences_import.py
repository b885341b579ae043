"""Brings preference files into a prompt set of their own."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from battles.imports.preferences import preferences_import
from common.errors import TourneyError


class Command(BaseCommand):
    help = "Import preferences with their texts: DPO, KTO or ShareGPT as JSON, JSON Lines or CSV, perhaps packed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--prompt-set", required=True, help="Slug; made if it is new.")
        parser.add_argument("--dry-run", action="store_true", help="Only check, and say what would come.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with options["file"].open("rb") as file:
                done = preferences_import(file=file, prompt_set=options["prompt_set"], is_dry_run=options["dry_run"])
        except (TourneyError, OSError) as error:
            raise CommandError(str(error)) from error
        kinds = f"{done.pairs:,} pairs, {done.single:,} single answers, {done.only_prompts:,} prompts alone"
        self.stdout.write(f"{done.rows:,} rows: {kinds}")
        came = "Nothing was stored." if done.new is None else f"{done.new:,} new, with {done.new_prompts:,} new prompts"
        self.stdout.write(came)
