"""Brings answers and judgments in FastChat's layout in, as a finished run."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from common.errors import TourneyError
from evaluations.reports.console import summary
from evaluations.services import run_import


class Command(BaseCommand):
    help = (
        "Import a folder that holds question.jsonl, model_answer/ and model_judgment/. A second time adds what is new."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--name", required=True, help="what the run is called")
        parser.add_argument(
            "--set", dest="slug", default="", help="slug of the question set; the run's name by default"
        )
        parser.add_argument("--owner", default="", help="whose run it is; the first administrator by default")

    def handle(self, *args: Any, folder: Path, name: str, slug: str, owner: str, **options: Any) -> None:
        people = User.objects.filter(username=owner) if owner else User.objects.filter(is_superuser=True)
        person = people.order_by("pk").first()
        if person is None:
            raise CommandError(f"There is nobody called {owner}." if owner else "There is no administrator yet.")
        try:
            report = run_import(folder=folder, name=name, owner=person, question_set=slug)
        except TourneyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{report.questions}\n{report}\n")
        if report.questions.doubted:
            numbers = ", ".join(map(str, report.questions.doubted))
            self.stderr.write(f"References reported wrong (FastChat pull request 3158): {numbers}.")
        self.stdout.write(summary(report.run))
