"""Fills the store of answers ahead for the suggested prompts."""

import asyncio
import sys
from contextlib import aclosing
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from battles.warming import Wanted, answers_wanted, answers_warm
from common.database import in_database_thread
from common.errors import TourneyError
from providers.adapters.http import close_clients
from providers.live_types import GenerationRecord

AT_ONCE = 4
EX_INTERRUPTED = 130


class Command(BaseCommand):
    help = "Ask models ahead for suggested prompts, so that the store can answer. Goes on where it was broken off."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--prompt-set", default="", metavar="SLUG", help="default: all suggested prompts")
        parser.add_argument("--models", nargs="+", default=[], metavar="SLUG", help="default: all that keep answers")
        parser.add_argument("--count", type=int, default=1, help="answers a model and prompt (default: 1)")
        parser.add_argument("--at-once", type=int, default=AT_ONCE, help=f"requests at once (default: {AT_ONCE})")

    def handle(self, *args: Any, prompt_set: str, models: list[str], count: int, at_once: int, **options: Any) -> None:
        try:
            wanted = answers_wanted(prompt_set=prompt_set, models=models, count=count)
        except TourneyError as error:
            raise CommandError(str(error)) from error
        if not wanted:
            self.stdout.write("Nothing to do: all these answers are in the store, or no endpoint keeps any.")
            return
        try:
            kept = asyncio.run(self._warm(wanted, max(at_once, 1)))
        except KeyboardInterrupt:
            self.stderr.write("Broken off. What was answered is kept; run it again for the rest.")
            sys.exit(EX_INTERRUPTED)
        if kept < len(wanted):
            raise CommandError(f"{kept} of {len(wanted)} answers kept. Run it again for the rest.")

    async def _warm(self, wanted: list[Wanted], at_once: int) -> int:
        """How many answers were kept."""
        kept = done = 0
        try:
            async with aclosing(answers_warm(wanted, at_once=at_once)) as answers:
                async for each, record in answers:
                    done += 1
                    is_kept, how = _outcome(record)
                    kept += is_kept
                    self.stdout.write(f"{done}/{len(wanted)} {each.model.slug}: {how}")
        finally:
            await close_clients()
            await in_database_thread(connections.close_all)()
        return kept


def _outcome(record: GenerationRecord | None) -> tuple[bool, str]:
    """Whether the answer is in the store, and a word about it."""
    if record is None:
        return False, "not asked: it rests, or its budget is spent"
    if record.status == "finished" and record.finish_reason == "stop":
        return True, "kept"
    return False, f"not kept: {record.error_kind or record.finish_reason}"
