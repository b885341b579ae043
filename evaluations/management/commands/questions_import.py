"""Brings questions into a set of their own."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from common.errors import TourneyError
from evaluations.services import questions_import


class Command(BaseCommand):
    help = (
        "Import a file of questions (YAML, JSON, JSON Lines, CSV) or of FastChat's reference answers, or a folder that "
        "holds question.jsonl, reference_answer/ and judge_prompts.jsonl."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", help="a file, a folder, or the https address of a file")
        parser.add_argument("--set", dest="slug", default="mt-bench", help="slug of the set; made if it is new")
        parser.add_argument("--name", default="", help="what the set is called")
        parser.add_argument("--licence", default="", help="under which the questions may be used")
        parser.add_argument("--source", dest="origin", default="", help="where they come from")

    def handle(self, *args: Any, source: str, slug: str, **options: Any) -> None:
        about = {"name": options["name"], "licence": options["licence"], "source": options["origin"]}
        try:
            report = questions_import(source=source, slug=slug, about=about)
        except TourneyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(str(report))
        if report.doubted:
            numbers = ", ".join(map(str, report.doubted))
            self.stderr.write(
                f"{len(report.doubted)} of these references are reported wrong (FastChat pull request 3158): "
                f"{numbers}.\n"
                "They can be corrected in the admin; a correction is a new version."
            )
