"""Loads the question set and the judge prompts that come with Tourney."""

from typing import Any

from django.core.management.base import BaseCommand

from evaluations.services import judge_prompts_seed, questions_seed


class Command(BaseCommand):
    help = "Load Tourney's own question set and judge prompts, unless they are there."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{questions_seed()} questions and {judge_prompts_seed()} judge prompts added")
