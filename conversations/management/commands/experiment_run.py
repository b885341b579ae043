"""Plays an experiment from a YAML file in the terminal."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from accounts.models import User
from common.errors import TourneyError
from conversations.experiments import services
from conversations.experiments.export import files_write
from conversations.experiments.files import GridFile
from conversations.experiments.running import experiment_play
from conversations.experiments.selectors import UUID_SHAPE, experiment_counts
from conversations.models import Experiment

EX_INTERRUPTED = 130


class Command(BaseCommand):
    help = "Play an experiment. Broken off, it goes on with --resume ID; turns that were said are not asked for again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", nargs="?", metavar="FILE.yaml", help="the grid, or a manifest.json; see docs/experiments.md"
        )
        parser.add_argument("--dry-run", action="store_true", help="only say what it means")
        parser.add_argument("--resume", metavar="ID", help="play what is missing of an experiment")
        parser.add_argument("--output-dir", type=Path, metavar="DIR", help="write the log and the manifest there")
        parser.add_argument("--user", help="whose experiment it is (default: the first administrator)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            experiment = self._experiment(options)
        except TourneyError as error:
            raise CommandError(str(error)) from error
        if experiment is None:
            return
        self.stdout.write(f"Experiment {experiment.pk}")
        self.stdout.flush()
        self._play(experiment, options["output_dir"])
        counts = experiment_counts(experiment)
        self.stdout.write(
            f"{counts['ended']} of {counts['conversations']} conversations have ended, {counts['turns']} turns, "
            f"{counts['refusals']} refusals, ${counts['cost']:.4f}"
        )
        for kind, number in counts["errors"].items():
            self.stdout.write(f"{number} turns failed: {kind}")
        if options["output_dir"]:
            for path in files_write(experiment, options["output_dir"]):
                self.stdout.write(str(path))
        if counts["ended"] < counts["conversations"]:
            raise CommandError(f"Not all have ended. Go on with --resume {experiment.pk}")

    def _experiment(self, options: dict[str, Any]) -> Experiment | None:
        """The one to play; None for a dry run."""
        if options["resume"]:
            id_ = options["resume"]
            found = Experiment.objects.filter(pk=id_).first() if UUID_SHAPE.fullmatch(id_) else None
            if found is None:
                raise CommandError("There is no such experiment.")
            return found
        if not options["file"]:
            raise CommandError("Name a FILE.yaml, or --resume ID.")
        owner = self._owner(options["user"])
        file = grid_file(Path(options["file"]))
        try:
            grid = services.grid_check(owner=owner, given=file.grid)
        except TourneyError as error:
            raise file.located(error) from error
        means = services.experiment_estimate(owner=owner, grid=grid)
        cost = "no prices are known" if means.cost is None else f"${means.cost:.4f}"
        self.stdout.write(
            f"{means.conversations:,} conversations, {means.turns:,} turns, about {means.input_tokens:,} tokens in and "
            f"{means.output_tokens:,} out, {cost}, {means.seconds:,.0f} s"
        )
        return None if options["dry_run"] else services.experiment_create(owner=owner, given=file.grid)

    def _owner(self, username: str | None) -> User:
        users = User.objects.filter(username=username) if username else User.objects.filter(is_superuser=True)
        owner = users.filter(is_active=True).order_by("pk").first()
        if owner is None:
            raise CommandError("There is no such user. Name one with --user.")
        return owner

    def _play(self, experiment: Experiment, folder: Path | None) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        try:
            services.conversations_make(experiment=experiment)
            with Progress(*columns) as bars:
                turns = bars.add_task("turns", total=experiment.turns_planned)
                experiment_play(
                    experiment=experiment,
                    on_progress=lambda done, total: bars.update(turns, completed=done, total=total),
                    folder=folder,
                )
        except (TourneyError, OSError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.stderr.write(f"Broken off. What was said is kept; go on with --resume {experiment.pk}")
            sys.exit(EX_INTERRUPTED)


def grid_file(path: Path) -> GridFile:
    """The grid of a YAML file or a manifest. Raises FileInvalid with the line, CommandError."""
    try:
        return GridFile(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
