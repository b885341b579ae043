"""Has a judge judge the battles that people voted on, and says how far it agrees with them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import Progress

from common.errors import TourneyError
from evaluations import api
from evaluations.battles.agreement import battle_agreement
from evaluations.battles.judging import battles_estimate
from evaluations.reports.console import table
from evaluations.services import battles_judge


class Command(BaseCommand):
    help = (
        "Have a judge compare the answers of battles that people voted on, in both orders, and hold it against them. "
        "Only battles whose owners share their data are shown to it. What was judged before is not judged again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--judge-model", metavar="MODEL", help="slug or name")
        parser.add_argument("--limit", type=int, metavar="N", help="so many pairs of answers at most")
        parser.add_argument("--estimate", action="store_true", help="only say what it would take")
        parser.add_argument("--agreement", action="store_true", help="only say how far judges agree with people")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if not options["agreement"]:
                if not options["judge_model"]:
                    raise CommandError("Name --judge-model, or ask for --agreement.")
                if options["limit"] is not None and options["limit"] < 1:
                    raise CommandError("--limit must be 1 or more.")
                self._judge(options)
        except TourneyError as error:
            raise CommandError(str(error)) from error
        if not options["estimate"]:
            self.stdout.write(agreement_table())

    def _judge(self, options: dict[str, Any]) -> None:
        judge = api.model(options["judge_model"])
        expected = battles_estimate(judge=judge, limit=options["limit"])
        cost = "a cost that is not known" if expected.cost is None else f"about {expected.cost:.4f} US dollars"
        self.stderr.write(f"{expected.battles} pairs of answers, {expected.requests} requests, {cost}.")
        if options["estimate"]:
            return
        with Progress(console=Console(stderr=True)) as progress:
            task = progress.add_task("verdicts", total=expected.requests)

            def tell(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total)

            states = battles_judge(owner=api.owner(), judge=judge, limit=options["limit"], tell=tell)
        if missing := {state: count for state, count in states.items() if state != "ok"}:
            self.stderr.write("No verdict: " + ", ".join(f"{n} {state}" for state, n in sorted(missing.items())) + ".")


def agreement_table() -> str:
    """Each judge and how far it agrees with people."""
    rows = []
    for judge, own in battle_agreement().items():
        shares = [own[name] for name in ("with_ties", "without_ties")]
        words = [f"{s['agreed']}/{s['of']} {s['rate']:.1%}" if s["of"] else "" for s in shares]
        kappa = "" if own["kappa"] is None else f"{own['kappa']:.3f}"
        flipped = f"{own['flipped_share']:.1%}" if "flipped_share" in own else ""
        rows.append([judge, *words, kappa, flipped])
    if not rows:
        return "No judge has judged a battle that people voted on yet.\n"
    return table(["model", "agrees", "without ties", "kappa", "flipped by order"], rows)
