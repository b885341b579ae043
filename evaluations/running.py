"""A run from its beginning to its end. Called through the services."""

import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import yaml
from asgiref.sync import async_to_sync, sync_to_async
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.errors import JobNotFound, JobOver
from accounts.jobs import JobCancelled, Progress, job_cancel, job_create
from accounts.models import Job, User
from common.errors import TourneyError
from common.stopping import GivesWay
from common.text import counted
from evaluations.comparing import run_compare
from evaluations.engine import Counts, Engine
from evaluations.errors import EvaluationInvalid, RunBusy, RunExists
from evaluations.fitting import fits
from evaluations.judge_prompts import judge_prompt_store
from evaluations.memory import Watch
from evaluations.models import JudgePrompt, Question, QuestionSet, ReferenceAnswer, Run
from evaluations.options import Options
from evaluations.planning import plan_of
from evaluations.reading.summaries import summary_refresh
from evaluations.reading.votes import vote_set_refresh
from evaluations.selectors import is_under_way
from evaluations.verdicts import State
from providers.adapters.http import close_clients
from providers.models import GeneratedText, LanguageModel
from providers.services import budget_check

log = logging.getLogger(__name__)

KIND = "evaluation"
PROMPTS = Path(__file__).with_name("judge_prompts.yaml")
MODELS_MAX = 100


@transaction.atomic
def judge_prompts_seed() -> int:
    """Add our own judge prompts, or their new versions; return how many."""
    rows = yaml.safe_load(PROMPTS.read_text(encoding="utf-8"))
    names = {"kind": JudgePrompt.Kind.SINGLE, "scope": JudgePrompt.Scope.ANY, "has_reference": False}
    new = 0
    for row in rows:
        fields = {**names, **{name: value for name, value in row.items() if name != "name"}}
        new += judge_prompt_store(family="tourney", name=row["name"], **fields)
    return new


@transaction.atomic
def run_create(
    *,
    owner: User,
    name: str,
    question_set: QuestionSet,
    models: Collection[LanguageModel],
    judges: Collection[LanguageModel],
    mode: str = Run.Mode.SINGLE,
    baseline: LanguageModel | None = None,
    options: dict[str, Any] | None = None,
) -> Run:
    """Store a run that nobody has begun. A baseline answers, too, where it is not among the models.

    Raises EvaluationInvalid where it could not be done, RunExists where the name is taken.
    """
    judge_prompts_seed()
    settled = _options(options or {})
    everybody = list({model.pk: model for model in [*models, *([baseline] if baseline else [])]}.values())
    _check(mode, everybody, judges, baseline, settled, question_set)
    try:
        with transaction.atomic():
            run = Run.objects.create(
                owner=owner,
                name=name,
                question_set=question_set,
                mode=mode,
                baseline=baseline,
                options=msgspec.to_builtins(settled),
            )
    except IntegrityError:
        raise RunExists from None
    run.contenders.set(everybody)
    run.judges.set(judges)
    return run


def _options(options: dict[str, Any]) -> Options:
    try:
        return msgspec.convert(options, Options)
    except msgspec.ValidationError as error:
        raise EvaluationInvalid(f"The options are not right: {error}.") from error


def _check(
    mode: str,
    models: Collection[LanguageModel],
    judges: Collection[LanguageModel],
    baseline: LanguageModel | None,
    options: Options,
    question_set: QuestionSet,
) -> None:
    if mode not in Run.Mode.values:
        raise EvaluationInvalid(f"The mode must be one of {', '.join(Run.Mode.values)}.")
    if not 1 <= len(models) <= MODELS_MAX:
        raise EvaluationInvalid(f"A run takes 1 to {MODELS_MAX} models.")
    if mode == Run.Mode.BASELINE and baseline is None:
        raise EvaluationInvalid("Name a baseline to compare the models with.")
    if mode != Run.Mode.BASELINE and baseline is not None:
        raise EvaluationInvalid("Only a run against a baseline has one.")
    if mode != Run.Mode.SINGLE and len(models) < 2:
        raise EvaluationInvalid("A comparison needs two models.")
    if away := sorted(model.name for model in {*models, *judges} if not model.is_active):
        raise EvaluationInvalid(f"These models cannot be asked: {', '.join(away)}.")
    if not Question.objects.filter(question_set=question_set).exists():
        raise EvaluationInvalid("This question set has no questions yet.")
    if options.memory_limit is not None:
        over = [str(fit) for fit in fits(models, options.memory_limit) if fit.fits is False]
        if over:
            raise EvaluationInvalid(f"Not within the memory limit: {'; '.join(over)}.")
    if judges and not JudgePrompt.objects.filter(family=options.prompts).exists():
        raise EvaluationInvalid(f"There are no judge prompts called {options.prompts}.")


@transaction.atomic
def run_start(*, run: Run) -> Run:
    """Have a worker do what is missing. Raises RunBusy while one is at it, BudgetSpent where there is no money."""
    locked = Run.objects.select_for_update().select_related("owner").get(pk=run.pk)
    if is_under_way(locked):
        raise RunBusy
    _budget_check(run)
    job = job_create(owner=locked.owner, kind=KIND, parameters={"title": f"Evaluation {run.name}", "run": str(run.pk)})
    Run.objects.filter(pk=run.pk).update(status=Run.Status.QUEUED, error="", finished_at=None, job_id=job.pk)
    run.refresh_from_db()
    return run


def _budget_check(run: Run) -> None:
    everybody = LanguageModel.objects.select_related("endpoint").filter(
        Q(pk__in=run.contenders.values("pk")) | Q(pk__in=run.judges.values("pk"))
    )
    budget_check(user_id=run.owner_id, contenders=everybody)


def run_cancel(*, run: Run) -> Run:
    """Have a run end; what is answered and judged by then stays. Nothing for one that is over."""
    if run.is_busy:
        if run.job_id is not None:
            with suppress(JobOver, JobNotFound):
                job_cancel(owner=run.owner, job_id=run.job_id)
        if run.job_id is None or not Job.objects.filter(pk=run.job_id, state=Job.State.RUNNING).exists():
            _end(run, Run.Status.CANCELLED)
        run.refresh_from_db()
    return run


@transaction.atomic
def run_clear_failed(*, run: Run) -> int:
    """Forget answers that failed and judgments without a verdict, so that the next start asks again; return how many.

    Raises RunBusy.
    """
    if is_under_way(run):
        raise RunBusy
    answers, _ = run.answers.exclude(status=GeneratedText.Status.FINISHED).delete()
    judgments, _ = run.judgments.exclude(state=State.OK).delete()
    return answers + judgments


@transaction.atomic
def run_extend(*, run: Run, models: Collection[LanguageModel] = (), judges: Collection[LanguageModel] = ()) -> Run:
    """Add models or judges to a run that is over; the next start does what they lack. Raises RunBusy and
    EvaluationInvalid."""
    if is_under_way(run):
        raise RunBusy
    everybody = {*run.contenders.select_related("endpoint"), *models}
    _check(run.mode, everybody, {*judges}, run.baseline, msgspec.convert(run.options, Options), run.question_set)
    run.contenders.add(*models)
    run.judges.add(*judges)
    return run


@transaction.atomic
def run_rejudge(*, run: Run, version: int) -> Run:
    """Have the next start judge anew what was judged by another version of its reference than `version`, or the newest
    below it; what was said before stays, to be compared. Raises RunBusy and EvaluationInvalid."""
    if is_under_way(run):
        raise RunBusy
    if not ReferenceAnswer.objects.filter(question__question_set=run.question_set, version=version).exists():
        raise EvaluationInvalid(f"No reference of these questions has a version {version}.")
    run.options = msgspec.to_builtins(msgspec.structs.replace(_options(run.options), reference_version=version))
    run.save(update_fields=["options"])
    return run


def run_do(*, run_id: UUID | str, tell: Callable[[Counts], None]) -> Counts:
    """Do what is missing of a run, here and now. `tell` is called every second; what it raises ends the work.

    Budgets are looked at as often: once one is spent, the run ends, and what was asked for until then stays. Safe to
    begin again after any end. Raises what `tell` raises, BudgetSpent and EndpointBudgetSpent.
    """
    run = Run.objects.select_related("question_set", "owner", "baseline").get(pk=run_id)
    Run.objects.filter(pk=run.pk).update(status=Run.Status.RUNNING, started_at=run.started_at or timezone.now())
    watch = Watch(dict(run.contenders.exclude(endpoint=None).values_list("endpoint__slug", "endpoint__base_url")))

    def watched(counts: Counts) -> None:
        watch.look()
        _budget_check(run)
        tell(counts)

    status, error = Run.Status.FAILED, "Something broke on our side. The log of the server says more; resume it."
    try:
        _budget_check(run)
        counts = async_to_sync(_go)(Engine(plan_of(run)), watched)
        run_compare(run=run)
        status, error = Run.Status.DONE, ""
    except GivesWay:
        status, error = Run.Status.QUEUED, ""
        raise
    except (JobCancelled, KeyboardInterrupt):
        status, error = Run.Status.CANCELLED, ""
        raise
    except TourneyError as problem:
        error = str(problem)
        raise
    finally:
        _note_memory(run, watch)  # before the summary, which shows it
        if status == Run.Status.QUEUED:  # the next worker says how it ends
            Run.objects.filter(pk=run.pk).update(status=status)
        else:
            _summarise(run)
            _end(run, status, error)
    return counts


def _note_memory(run: Run, watch: Watch) -> None:
    if watch.peaks:
        memory = dict(run.memory)
        for name, peaks in watch.peaks.items():
            before = memory.get(name, {})
            memory[name] = before | {kind: max(size, before.get(kind, 0)) for kind, size in peaks.items()}
        Run.objects.filter(pk=run.pk).update(memory=memory)


async def _go(engine: Engine, tell: Callable[[Counts], None]) -> Counts:
    async def pulse(counts: Counts) -> None:
        await sync_to_async(partial(tell, counts))()

    try:
        return await engine.go(pulse)
    finally:
        await close_clients()


def _summarise(run: Run) -> None:
    """Store what the run says so far. That it cannot be computed never costs what was answered and judged."""
    try:
        summary_refresh(run_id=run.pk)
        for vote_set in run.vote_sets.all():
            vote_set_refresh(vote_set=vote_set)
    except Exception:
        log.exception("the summary of run %s could not be computed", run.pk)
        run.summaries.all().delete()  # the next look at it asks a worker


def _end(run: Run, status: str, error: str = "") -> None:
    Run.objects.filter(pk=run.pk).update(status=status, error=error, finished_at=timezone.now())


def run_work(parameters: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """What the job of a run does."""
    counts = run_do(run_id=parameters["run"], tell=lambda now: progress(now.done, now.total))
    return {
        "run": parameters["run"],
        "summary": (
            f"{counted(counts.answers, 'answer')}, {counted(counts.judgments, 'judgment')}, "
            f"{counts.failed + counts.unread} failed."
        ),
    }
