"""Two runs compared, computed by a worker and stored. Called through the services."""

from collections import defaultdict
from typing import Any

from django.utils import timezone

from evaluations.errors import EvaluationInvalid
from evaluations.models import Run, RunPair
from evaluations.reading.differences import changes, differences
from evaluations.reading.summaries import enqueue
from evaluations.scoring import Score
from evaluations.selectors import scores_of

CHANGES_KEPT = 100


def run_pair_get(*, first: Run, second: Run, first_model: str = "", second_model: str = "") -> RunPair:
    """The comparison of two runs, which a worker computes where it is new or older than what it compares; until then
    its `computed_at` is None. Without models, those that both runs have, or the only one of each.

    Raises EvaluationInvalid where there is nothing to compare.
    """
    if first.question_set_id != second.question_set_id:
        raise EvaluationInvalid("These runs asked different question sets. Choose two runs of the same one.")
    if bool(first_model) != bool(second_model):
        raise EvaluationInvalid("Name a model of both runs, or of none.")
    if first == second and first_model == second_model:
        raise EvaluationInvalid("Choose two runs, or two models of one run.")
    if not _pairs(_names(first), _names(second), first_model, second_model):
        raise EvaluationInvalid("These runs have no model in common. Name one of each.")
    pair, _ = RunPair.objects.get_or_create(
        first=first, second=second, first_model=first_model, second_model=second_model
    )
    ended = [run.finished_at for run in (first, second) if run.finished_at]
    if pair.computed_at is None or any(pair.computed_at < moment for moment in ended):
        RunPair.objects.filter(pk=pair.pk).update(computed_at=None)
        pair.computed_at = None
        enqueue("evaluation_run_pair", pair.pk)
    return pair


def run_pair_refresh(*, pair_id: int) -> None:
    """Compute and store it; nothing where it is there already."""
    pair = RunPair.objects.select_related("first", "second").filter(pk=pair_id, computed_at=None).first()
    if pair is None:
        return
    now = timezone.now()
    first, second = _scores(pair.first), _scores(pair.second)
    pairs = _pairs(sorted(first), sorted(second), pair.first_model, pair.second_model)
    found = differences(pairs, first, second)
    document: dict[str, Any] = {
        "tests": len(found),
        "differences": [one.as_json() for one in found],
        "changes": [one.as_json() for one in changes(pairs, first, second)[:CHANGES_KEPT]],
    }
    RunPair.objects.filter(pk=pair.pk).update(document=document, computed_at=now)


def _pairs(first: list[str], second: list[str], one: str, two: str) -> list[tuple[str, str]]:
    if one or two:
        return [(one, two)] if one in first and two in second else []
    both = [(name, name) for name in first if name in second]
    return both or ([(first[0], second[0])] if len(first) == len(second) == 1 else [])


def _names(run: Run) -> list[str]:
    return list(run.contenders.order_by("name").values_list("name", flat=True))


def _scores(run: Run) -> dict[str, list[Score]]:
    found: dict[str, list[Score]] = defaultdict(list)
    for score in scores_of(run):
        found[score.model].append(score)
    return found
