"""Runs MT-bench, or any question set, from the terminal: models answer, judges judge, and a table ends it."""

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from accounts.jobs import JobCancelled
from common.errors import TourneyError
from evaluations import api
from evaluations.console import summary
from evaluations.engine import Counts
from evaluations.models import Run
from evaluations.planning import Estimate, estimate, plan_of
from evaluations.services import run_clear_failed, run_create, run_do, run_extend
from providers.models import LanguageModel

EX_GAPS = 3
EX_INTERRUPTED = 130


class Command(BaseCommand):
    help = (
        "Have models answer a question set and judges judge. Exit codes: 0 all is judged, 1 it could not be done, "
        "3 some answers or verdicts are missing (--retry-failed asks again), 130 interrupted (--resume goes on)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--models", nargs="+", default=[], metavar="MODEL", help="slugs or names")
        parser.add_argument("--judge-model", nargs="+", default=[], metavar="MODEL", dest="judges")
        parser.add_argument("--mode", choices=Run.Mode.values, default=Run.Mode.SINGLE)
        parser.add_argument("--baseline", default="", metavar="MODEL")
        parser.add_argument("--set", dest="slug", default="", help="question set; needed where there are several")
        parser.add_argument("--max-questions", type=int)
        parser.add_argument("--repeats", type=int, default=1, help="how often each judge judges the same")
        parser.add_argument("--seed", type=int)
        parser.add_argument("--max-tokens", type=int, default=1024, help="of an answer")
        parser.add_argument("--prompts", default="tourney", help="family of judge prompts, for example fastchat")
        parser.add_argument("--name", default="", help="what the run is called")
        parser.add_argument(
            "--output-dir", type=Path, help="results as JSON, CSV, Markdown, charts and FastChat's files"
        )
        parser.add_argument("--resume", action="store_true", help="go on with the run of --name, or the latest one")
        parser.add_argument("--retry-failed", action="store_true", help="ask again what failed; implies --resume")
        parser.add_argument("--list-models", action="store_true")
        parser.add_argument("--estimate", action="store_true", help="only say what it would take")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["list_models"]:
            for model in LanguageModel.objects.active().select_related("endpoint"):
                self.stdout.write(f"{model.slug}  {model.name}")
            return
        try:
            run = self._resumed(options) if options["resume"] or options["retry_failed"] else self._new(options)
            if options["retry_failed"]:
                self.stderr.write(f"{run_clear_failed(run=run)} failed ones are asked again.")
            self._tell(run, estimate(plan_of(run)))
            if options["estimate"]:
                return
            counts = self._do(run)
        except TourneyError as error:
            raise CommandError(str(error)) from error
        run.refresh_from_db()
        self.stdout.write(summary(run))
        if options["output_dir"]:
            for path in api.Results(run).save(options["output_dir"]):
                self.stderr.write(str(path))
        if counts.failed or counts.unread:
            self.stderr.write(f"{counts.failed} answers and {counts.unread} verdicts are missing.")
            sys.exit(EX_GAPS)

    def _new(self, options: dict[str, Any]) -> Run:
        if not options["models"] or not options["judges"]:
            raise CommandError("Name --models and --judge-model. --list-models shows which there are.")
        wanted = {
            "max_questions": options["max_questions"],
            "repeats": options["repeats"],
            "seed": options["seed"],
            "max_tokens": options["max_tokens"],
            "prompts": options["prompts"],
        }
        return run_create(
            owner=api.owner(),
            name=options["name"] or api.free_name(),
            question_set=api.question_set(options["slug"]),
            models=[api.model(name) for name in options["models"]],
            judges=[api.model(name) for name in options["judges"]],
            mode=options["mode"],
            baseline=api.model(options["baseline"]) if options["baseline"] else None,
            options=wanted,
        )

    def _resumed(self, options: dict[str, Any]) -> Run:
        runs = Run.objects.exclude(status=Run.Status.IMPORTED).order_by("-created_at")
        run = (runs.filter(name=options["name"]) if options["name"] else runs).first()
        if run is None:
            raise CommandError("There is no such run to go on with.")
        models = [api.model(name) for name in options["models"]]
        judges = [api.model(name) for name in options["judges"]]
        return run_extend(run=run, models=models, judges=judges) if models or judges else run

    def _tell(self, run: Run, expected: Estimate) -> None:
        cost = "a cost that is not known" if expected.cost is None else f"about {expected.cost:.4f} US dollars"
        self.stderr.write(
            f"Run {run.name}: {expected.answers} answers and {expected.judgments} judgments to come, about "
            f"{expected.input_tokens:,} tokens to read and {expected.output_tokens:,} to write, {cost}."
        )

    def _do(self, run: Run) -> Counts:
        try:
            with _stoppable() as check, _bars() as show:

                def tell(counts: Counts) -> None:
                    check()
                    show(counts)

                return run_do(run_id=run.pk, tell=tell)
        except JobCancelled:
            self.stderr.write(f"Stopped. `manage.py mtbench --resume --name {run.name}` goes on.")
            sys.exit(EX_INTERRUPTED)


@contextmanager
def _stoppable() -> Iterator[Callable[[], None]]:
    """A check that raises JobCancelled after Ctrl-C: what is under way is dropped in good order."""
    asked: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    def check() -> None:
        if asked:
            raise JobCancelled

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _bars() -> Iterator[Callable[[Counts], None]]:
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[aside]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as progress:
        answers = progress.add_task("answers", total=None, aside="")
        judgments = progress.add_task("judgments", total=None, aside="")

        def show(counts: Counts) -> None:
            failed = f"{counts.failed} failed" if counts.failed else ""
            unread = f"{counts.unread} without a verdict" if counts.unread else ""
            aside = f"{unread} ${counts.cost:.4f}".strip()
            progress.update(answers, completed=counts.answers, total=counts.answers_total, aside=failed)
            progress.update(judgments, completed=counts.judgments, total=counts.judgments_total, aside=aside)

        yield show
