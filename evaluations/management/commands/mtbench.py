"""Runs MT-bench, or any question set, from the terminal: models answer, judges judge, and a table ends it."""

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from accounts.jobs import JobCancelled
from common.errors import TourneyError
from common.text import counted
from evaluations import api
from evaluations.engine import Counts
from evaluations.errors import RunBusy
from evaluations.estimating import Estimate, estimate
from evaluations.fitting import fits, measured
from evaluations.models import Run
from evaluations.options import Options
from evaluations.planning import plan_of
from evaluations.reports.console import summary
from evaluations.scored import peaks_of
from evaluations.selectors import is_judged_by_itself, is_under_way, states_of
from evaluations.services import run_clear_failed, run_create, run_do, run_extend
from evaluations.verdicts import State
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
        parser.add_argument("--judge-max-tokens", type=int, default=2048, help="of a judgment")
        parser.add_argument(
            "--memory-limit", type=float, metavar="GB", help="refuse models of our own engines that need more"
        )
        parser.add_argument("--prompts", default="tourney", help="family of judge prompts, for example fastchat")
        parser.add_argument("--name", default="", help="what the run is called")
        parser.add_argument(
            "--output-dir", type=Path, help="report.html, JSON, CSV, Markdown, charts and FastChat's files"
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
            if options["estimate"]:
                with transaction.atomic():
                    self._tell(run := self._run(options), estimate(plan_of(run)))
                    transaction.set_rollback(True)
                return
            if options["output_dir"]:
                options["output_dir"].mkdir(parents=True, exist_ok=True)
            run = self._run(options)
            if options["retry_failed"]:
                self.stderr.write(f"{run_clear_failed(run=run)} failed ones are asked again.")
            self._tell(run, estimate(plan_of(run)))
            counts = self._do(run)
        except TourneyError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}.") from error
        run.refresh_from_db()
        self.stdout.write(summary(run))
        self._measured(run)
        if options["output_dir"]:
            for path in api.Results(run).save(options["output_dir"]):
                self.stderr.write(str(path))
        unread = sum(count for state, count in states_of(run).items() if state != State.OK)
        if counts.failed or unread:
            words = f"{counted(counts.failed, 'answer')} and {counted(unread, 'verdict')}"
            self.stderr.write(f"{words} {'is' if counts.failed + unread == 1 else 'are'} missing.")
            sys.exit(EX_GAPS)

    def _run(self, options: dict[str, Any]) -> Run:
        return self._resumed(options) if options["resume"] or options["retry_failed"] else self._new(options)

    def _new(self, options: dict[str, Any]) -> Run:
        question_set = api.question_set(options["slug"])
        if not options["models"] or not (options["judges"] or is_judged_by_itself(question_set)):
            raise CommandError("Name --models and --judge-model. --list-models shows which there are.")
        wanted = {
            "max_questions": options["max_questions"],
            "repeats": options["repeats"],
            "seed": options["seed"],
            "max_tokens": options["max_tokens"],
            "judge_max_tokens": options["judge_max_tokens"],
            "memory_limit": options["memory_limit"],
            "prompts": options["prompts"],
        }
        return run_create(
            owner=api.owner(),
            name=options["name"] or api.free_name(),
            question_set=question_set,
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
        if is_under_way(run):
            raise RunBusy
        models = [api.model(name) for name in options["models"]]
        judges = [api.model(name) for name in options["judges"]]
        return run_extend(run=run, models=models, judges=judges) if models or judges else run

    def _tell(self, run: Run, expected: Estimate) -> None:
        cost = "a cost that is not known" if expected.cost is None else f"about {expected.cost:.4f} US dollars"
        settled = msgspec.convert(run.options, Options)
        if settled.memory_limit is not None:
            for fit in fits(run.contenders.select_related("endpoint"), settled.memory_limit):
                self.stderr.write(str(fit))
        self.stderr.write(
            f"Run {run.name}: {counted(expected.answers, 'answer')}, {counted(expected.judgments, 'judgment')} and "
            f"{counted(expected.matches, 'match', 'matches')} to come, about {expected.input_tokens:,} tokens to read "
            f"and {expected.output_tokens:,} to write, {cost}."
        )

    def _measured(self, run: Run) -> None:
        limit = msgspec.convert(run.options, Options).memory_limit
        if limit is not None:
            for fit in measured(peaks_of(run), limit):
                self.stderr.write(str(fit))

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
    """A check that raises JobCancelled after Ctrl-C or SIGTERM: what is under way is dropped in good order."""
    asked: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    def check() -> None:
        if asked:
            raise JobCancelled

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield check
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
