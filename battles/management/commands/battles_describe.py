from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from battles.category_judge import categories_judge
from battles.describing import battles_describe
from common.errors import NotFound


class Command(BaseCommand):
    help = "Finds category and language of battles by rules, or asks a judge model for the category."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--again", action="store_true", help="also those that a rule has judged before")
        parser.add_argument("--judge", metavar="SLUG", default="", help="a model of the catalogue; costs its tokens")
        parser.add_argument("--limit", type=int, default=None, help="judge at most so many")

    def handle(self, *args: Any, again: bool, judge: str, limit: int | None, **options: Any) -> None:
        self.stdout.write(f"{battles_describe(again=again)} battles were looked at by the rules.")
        if judge:
            try:
                done = categories_judge(model=judge, limit=limit)
            except NotFound as error:
                raise CommandError(str(error)) from error
            self.stdout.write(f"{judge} judged {done.judged}: {done.kept} kept, {done.unread} named no category.")
