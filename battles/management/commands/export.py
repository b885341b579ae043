"""Writes an export to a file or to standard output."""

import sys
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.timezone import make_aware

from battles.exports.export import Export
from battles.exports.formats import FORMATS
from battles.exports.kinds import KINDS
from battles.exports.selection import RANKINGS, SHAPES, SOURCES, Selection
from common.errors import TourneyError


def when(text: str) -> datetime:
    """A day or a moment, in the server's time zone where it names none."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else make_aware(moment)


class Command(BaseCommand):
    help = "Write preferences as a file: of all who share their data."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=list(KINDS))
        parser.add_argument("--output", default="-", help="A path; - is standard output.")
        parser.add_argument("--format", choices=list(FORMATS), default="jsonl")
        parser.add_argument("--shape", choices=SHAPES, default="standard")
        parser.add_argument("--ranking", choices=RANKINGS, default="pairs")
        parser.add_argument("--source", choices=SOURCES, default="")
        parser.add_argument("--since", type=when)
        parser.add_argument("--until", type=when)
        for name in ("board", "category", "language"):
            parser.add_argument(f"--{name}", default="")
        parser.add_argument("--models", nargs="*", default=[])
        parser.add_argument("--minimum-votes", type=int, default=1)
        parser.add_argument("--majority", type=float, default=0.5)
        parser.add_argument("--no-likes", dest="likes", action="store_false")
        for name in ("trajectories", "ties", "both-bad", "comments", "bundle", "gzip"):
            parser.add_argument(f"--{name}", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        filters = {name: options[name] for name in Selection.__dataclass_fields__ if name != "owner_id"}
        wanted = {name: options[name] for name in ("kind", "format", "bundle", "gzip")}
        try:
            export = Export(selection=Selection(owner_id=None, **filters), **wanted)
        except TourneyError as error:
            raise CommandError(str(error)) from error
        path = options["output"]
        with nullcontext(sys.stdout.buffer) if path == "-" else Path(path).open("wb") as file:
            for piece in export.pieces():
                file.write(piece)
        self.stderr.write(f"{export.rows} rows")
        for reason, count in sorted(export.skipped.items()):
            self.stderr.write(f"left out: {count} ({reason})")
