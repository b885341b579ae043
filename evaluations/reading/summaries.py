"""What a run says, computed once it has ended and stored: pages and the API read it. Called through the services."""

import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from celery import current_app
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from evaluations.fitting import measured
from evaluations.models import Run, Summary
from evaluations.reading.judging import agreement_matrix, judging_report
from evaluations.reports.figures import Facts, facts_stored
from evaluations.results import results
from evaluations.scoring import distribution
from evaluations.selectors import cost_of, judgments_under, reference_versions, scores_of, states_of
from evaluations.verdicts import State
from providers.models import GeneratedText

log = logging.getLogger(__name__)

# A computation that was asked for is not asked for again so soon.
ASKED_SECONDS = 60


def summary_refresh(*, run_id: UUID | str) -> None:
    """Compute and store what the run says, also by each older version of its references where it was judged by more
    than one. Nothing for a run that is gone."""
    run = Run.objects.select_related("question_set", "baseline").filter(pk=run_id).first()
    if run is None:
        return
    versions = reference_versions(run)
    wanted = [0, *(versions if len(versions) > 1 else [])]
    computed = {version: _computed(run, version) for version in wanted}
    with transaction.atomic():
        for version, fields in computed.items():
            Summary.objects.update_or_create(run=run, references=version, defaults=fields)
        run.summaries.exclude(references__in=wanted).delete()


def _computed(run: Run, references: int) -> dict[str, Any]:
    now = timezone.now()
    report = judging_report(run, references)
    scores = scores_of(run, references=references)
    cells = cells_of(run, references)
    facts = {
        "questions": _question_means(cells),
        "distribution": distribution(scores),
        "agreement": agreement_matrix(report),
        "cells": cells,
    }
    document = results(run, references=references)
    return {"document": document, "facts": facts, "agreement": report, "computed_at": now}


def cells_of(run: Run, references: int = 0) -> dict[str, dict[int, dict[int, list[Any]]]]:
    """Of each model, question and turn: the mean score, how far the judges' means are apart, and whether the answer or
    a verdict failed. Two judges who name different winners of a game are one apart; matches are in the mean, and agree
    or differ with nobody."""
    grades: dict[tuple[str, int, int], dict[int | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    apart: dict[tuple[str, int, int], float] = {}
    failed: set[tuple[str, int, int]] = set()
    rows = judgments_under(run, references).order_by()
    winners: dict[tuple[Any, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one, two, number, turn, judge, state, score, winner in rows.values_list(
        "model_a__name", "model_b__name", "question__number", "turn", "judge_id", "state", "score", "winner"
    ):
        if state != State.OK:
            failed |= {(name, number, turn) for name in (one, two) if name}
        elif score is not None:
            grades[one, number, turn][judge].append(score)
        elif two:
            winners[one, two, number, turn][judge].add(winner)
    for (one, two, number, turn), by_judge in winners.items():
        settled = {next(iter(said)) if len(said) == 1 else "tie" for said in by_judge.values()}
        for name in (one, two):
            apart[name, number, turn] = max(apart.get((name, number, turn), 0.0), float(len(settled) > 1))
    answers = run.answers.exclude(status=GeneratedText.Status.FINISHED).order_by()
    failed |= set(answers.values_list("model__name", "question__number", "turn"))
    found: dict[str, dict[int, dict[int, list[Any]]]] = defaultdict(lambda: defaultdict(dict))
    for key in {*grades, *apart, *failed}:
        model, number, turn = key
        own = grades.get(key, {})
        every = [value for values in own.values() for value in values]
        mean = sum(every) / len(every) if every else None
        means = [sum(values) / len(values) for judge, values in own.items() if judge is not None]
        far = max([apart.get(key, 0.0), *([max(means) - min(means)] if means else [])])
        found[model][number][turn] = [mean, far, key in failed]
    return found


def _question_means(cells: dict[str, dict[int, dict[int, list[Any]]]]) -> dict[str, dict[int, float]]:
    means = {}
    for model, own in cells.items():
        by_question = {
            number: [mean for mean, _, _ in turns.values() if mean is not None] for number, turns in own.items()
        }
        means[model] = {number: sum(values) / len(values) for number, values in sorted(by_question.items()) if values}
    return means


@dataclass(frozen=True)
class Reading:
    """A stored summary, ready to be shown. `document` says how the run is now."""

    run: Run
    summary: Summary

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = self.summary.document
        finished = self.run.finished_at.isoformat() if self.run.finished_at else None
        return document | {"run": document["run"] | {"status": self.run.status, "finished_at": finished}}

    @property
    def facts(self) -> Facts:
        return facts_stored(self.summary.document, self.summary.facts)

    @property
    def has_games(self) -> bool:
        return any(judge["games"] for judge in self.summary.document["judges"]["each"].values())


def reading_of(run: Run, references: int = 0, *, parts: tuple[str, ...] = ()) -> Reading | None:
    """What is stored of a run; None where it has not been computed yet. `parts` names the columns that are needed,
    all without it."""
    rows = Summary.objects.filter(run=run, references=references)
    summary = (rows.only("references", "computed_at", *parts) if parts else rows).first()
    return Reading(run, summary) if summary else None


def versions_of(run: Run) -> list[int]:
    """The versions of references under which results are stored; [] where there is only one."""
    return list(run.summaries.filter(references__gt=0).order_by("references").values_list("references", flat=True))


def means_by_version(run: Run) -> list[tuple[str, list[float | None]]]:
    """Each model's mean by each version of the references, in the order of `versions_of`; the last best first."""
    stored = run.summaries.filter(references__gt=0).order_by("references").values_list("document", flat=True)
    means = [
        {row["model_name"]: row["overall_score"]["mean"] for row in document["model_results"]} for document in stored
    ]
    names = sorted({name for own in means for name in own}, key=lambda name: -(means[-1].get(name) or 0.0))
    return [(name, [own.get(name) for own in means]) for name in names]


def head_of(run: Run, document: dict[str, Any] | None) -> dict[str, Any]:
    """What stands above a run: its judges, its cost, what failed or has no verdict, who took more memory than allowed,
    and who judged themselves; from what is stored, or as it is now."""
    if document is not None:
        judges, cost = document["run"]["judges"], document["run"]["cost"]
        states, self_named = document["judgment_states"], document["self_judged"]
    else:
        judges, cost = list(run.judges.order_by("name").values_list("name", flat=True)), cost_of(run)
        states, self_named = states_of(run), []
    missing = {state: count for state, count in states.items() if state != State.OK}
    generation = document["generation"] if document else {}
    return {
        "judges": judges,
        "cost": cost,
        "missing": missing,
        "failed": sum(own["failed"] for own in generation.values()),
        "over_limit": _over_limit(generation, run.options.get("memory_limit")),
        "self_judged": self_named,
    }


def _over_limit(generation: dict[str, dict[str, Any]], limit: float | None) -> list[str]:
    """Which models took more memory than the run allowed, in words."""
    peaks = {
        name: {"process": own["peak_memory"], "gpu": own.get("peak_gpu_memory")}
        for name, own in generation.items()
        if own["peak_memory"]
    }
    return [str(fit) for fit in measured(peaks, limit) if not fit.fits] if limit else []


def summary_want(run: Run) -> None:
    """Have a worker compute what is not stored yet. Costs nothing where it was asked for a moment ago."""
    if cache.add(f"summary:{run.pk}", True, ASKED_SECONDS):
        enqueue("evaluation_summary", str(run.pk))


def enqueue(task: str, *arguments: Any) -> None:
    """Send a task, by its name, after the transaction; a broker that is down costs only that the page asks again."""

    def send() -> None:
        try:
            current_app.send_task(task, arguments, retry=False)
        except Exception as error:  # whatever a broker raises when it is down
            log.warning("%s waits for another visit: %r", task, error)

    transaction.on_commit(send)
