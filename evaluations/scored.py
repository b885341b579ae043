"""What a run found beside scores: shares of matches, ratings by criterion, memory of local servers. Reads only."""

from typing import Any

from evaluations.models import Run
from evaluations.scorers import on_scale
from evaluations.selectors import judgments_under
from evaluations.verdicts import State


def scorers_of(run: Run, references: int = 0) -> dict[str, dict[str, Any]]:
    """Of each model: by kind of scorer how many answers matched `of` how many, and by criterion the mean rating, the
    highest that there could be, and how many ratings it is of. Empty where all was judged as ever. `references` is the
    version of the references to go by, 0 for the newest."""
    rows = judgments_under(run, references).filter(model_b=None, state=State.OK).exclude(details={}).order_by()
    found: dict[str, dict[str, Any]] = {}
    for model, kind, score in rows.filter(judge=None).values_list("model_a__name", "prompt_name", "score"):
        match = _of(found, model)["matches"].setdefault(kind, {"passed": 0, "of": 0})
        match["passed"] += score == on_scale(1)
        match["of"] += 1
    for model, details in rows.exclude(judge=None).values_list("model_a__name", "details"):
        for criterion, rating in details["ratings"].items():
            mean = _of(found, model)["criteria"].setdefault(criterion, {"mean": 0.0, "count": 0, "highest": 0})
            mean["count"] += 1
            mean["mean"] += (rating - mean["mean"]) / mean["count"]
            mean["highest"] = max(mean["highest"], details["scorer"].get("high", 5))
    return dict(sorted(found.items()))


def peaks_of(run: Run) -> dict[str, dict[str, int]]:
    """The most memory, in bytes, that the server of each model took meanwhile: of its `process`, and of a `gpu` where
    that is known; models of one server share it."""
    rows = run.contenders.filter(endpoint__slug__in=run.memory).values_list("name", "endpoint__slug")
    return {name: run.memory[slug] for name, slug in rows}


def _of(found: dict[str, dict[str, Any]], model: str) -> dict[str, Any]:
    return found.setdefault(model, {"matches": {}, "criteria": {}})
