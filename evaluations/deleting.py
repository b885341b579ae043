"""Runs that are taken away again. Called through the services."""

from django.db import transaction

from evaluations.errors import RunBusy
from evaluations.models import Run
from evaluations.selectors import is_under_way
from leaderboard.exclusions import Exclusion
from leaderboard.models import Board, Comparison
from leaderboard.services import comparisons_exclude

BATCH = 500


@transaction.atomic
def run_delete(*, run: Run) -> None:
    """Forget a run with its answers and judgments; what its judges said of pairs counts in no rating from then on.
    Raises RunBusy."""
    if is_under_way(run):
        raise RunBusy
    pairs = list(run.judgments.filter(model_b__isnull=False).order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(pairs), BATCH):
        sources = [f"evaluation:{pk}" for pk in pairs[start : start + BATCH]]
        rows = Comparison.objects.filter(source_kind=Board.Source.JUDGES, source_id__in=sources)
        comparisons_exclude(comparisons=rows, reason=Exclusion.WITHDRAWN.value)
    run.delete()
