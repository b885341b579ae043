"""Every write of experiments, and what they will cost."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Avg
from django.utils import timezone

from accounts.jobs import job_cancel, job_create
from accounts.models import Job, User
from common.errors import NotFound
from conversations import selectors
from conversations.errors import AgentGone, ExperimentInvalid, StillSpeaking
from conversations.experiments.plan import Cell, Estimate, Grid, Rates, cells, estimate, grid_read, size_of
from conversations.models import Conversation, Experiment, Scenario, Side, Turn
from conversations.requests import TURN_MAX_TOKENS
from conversations.services import AgentSpec, Rules, conversation_create, rules_check
from providers.client import CHARACTERS_A_TOKEN
from providers.models import LanguageModel
from providers.services import budget_check

KIND = "experiment"
# What a turn takes of a model that has not spoken here yet.
TOKENS_A_TURN = 120.0
SECONDS_A_TURN = 5.0
# Conversations that are under way at the same time; the limits of endpoints hold besides.
AT_ONCE = 64


def grid_check(*, owner: User, given: Mapping[str, Any]) -> Grid:
    """The grid of a file or a request, if it can be run by this person. Raises ExperimentInvalid, AgentGone, NotFound,
    ConversationInvalid."""
    grid = grid_read(given)
    size, most = size_of(grid), settings.EXPERIMENT_CONVERSATIONS_MAX
    if size > most:
        raise ExperimentInvalid(
            f"This grid means {size:,} conversations, and at most {most:,} are allowed. Take some out, or have the "
            "setting EXPERIMENT_CONVERSATIONS_MAX raised."
        )
    rules_check(_rules(grid))
    _models(grid)
    for slug in grid.scenarios:
        selectors.scenario_get(slug=slug, viewer=owner)
    return grid


def experiment_estimate(*, owner: User, grid: Grid) -> Estimate:
    """What it takes, by what each model's turns took here so far."""
    models = _models(grid)
    spoken = {
        row["model"]: row
        for row in Turn.objects.filter(model__in=models.values(), status=Turn.Status.FINISHED)
        .order_by()
        .values("model")
        .annotate(tokens=Avg("output_tokens"), latency=Avg("latency_ms"))
    }
    rates = {slug: _rates(model, spoken.get(model.pk, {}), grid) for slug, model in models.items()}
    scenarios = [selectors.scenario_get(slug=slug, viewer=owner) for slug in grid.scenarios]
    told = [len(one.system_a) + len(one.system_b) + len(one.opening) for one in scenarios]
    return estimate(grid, rates, system_tokens=sum(told) / len(told) / 2 / CHARACTERS_A_TOKEN, at_once=_places(models))


@transaction.atomic
def experiment_create(*, owner: User, given: Mapping[str, Any]) -> Experiment:
    """Store an experiment; nothing is asked yet. Raises what `grid_check` raises, and BudgetSpent."""
    grid = grid_check(owner=owner, given=given)
    budget_check(user_id=owner.pk, contenders=_models(grid).values())
    versions = {slug: selectors.scenario_get(slug=slug, viewer=owner).version for slug in grid.scenarios}
    return Experiment.objects.create(
        owner=owner,
        name=grid.name.strip(),
        grid=msgspec.to_builtins(grid),
        scenario_versions=versions,
        turns_planned=size_of(grid) * grid.turns,
    )


@transaction.atomic
def experiment_start(*, experiment_id: UUID, owner: User) -> Job:
    """Have a worker play what is missing, turns that failed included. Raises NotFound, StillSpeaking."""
    experiment = Experiment.objects.select_for_update().filter(pk=experiment_id, owner=owner).first()
    if experiment is None:
        raise NotFound
    if experiment.job and not experiment.job.is_over:
        raise StillSpeaking("This experiment is under way already.")
    parameters = {"title": f"Experiment {experiment.name}", "experiment": str(experiment.pk)}
    experiment.job = job_create(owner=owner, kind=KIND, parameters=parameters)
    experiment.save(update_fields=["job"])
    return experiment.job


def experiment_cancel(*, experiment_id: UUID, owner: User) -> None:
    """Let it stand still after the turns that are being written; it can be started again. Raises NotFound, JobOver."""
    experiment = Experiment.objects.filter(pk=experiment_id, owner=owner).first()
    if experiment is None or experiment.job_id is None:
        raise NotFound
    job_cancel(owner=owner, job_id=experiment.job_id)


def conversations_make(*, experiment: Experiment) -> int:
    """Store the conversations of the plan that are not there yet; return how many there are."""
    grid = msgspec.convert(experiment.grid, Grid)
    there = set(experiment.conversations.values_list("cell", flat=True))
    scenarios = {
        slug: Scenario.objects.get(slug=slug, version=version) for slug, version in experiment.scenario_versions.items()
    }
    for cell in cells(grid):
        if cell.number not in there:
            _make(experiment, grid, cell, scenarios[cell.scenario])
    return experiment.conversations.count()


@transaction.atomic
def conversation_claim(*, conversation_id: UUID) -> bool:
    """Set a conversation of an experiment going; False where it has ended or was deleted. A turn that a dead worker was
    at is marked as interrupted, and will be had again."""
    conversation = Conversation.objects.select_for_update().kept().filter(pk=conversation_id).first()
    if conversation is None or conversation.state == Conversation.State.ENDED:
        return False
    conversation.turns.filter(is_current=True, status__in=Turn.LIVE).update(
        status=Turn.Status.INTERRUPTED, finished_at=timezone.now()
    )
    conversation.state, conversation.reason, conversation.note = Conversation.State.RUNNING, "", ""
    conversation.is_pause_asked = False
    conversation.save(update_fields=["state", "reason", "note", "is_pause_asked"])
    return True


def conversations_pause(*, experiment: Experiment) -> None:
    """Let those that are under way stand still behind their turns."""
    running = experiment.conversations.filter(state=Conversation.State.RUNNING)
    running.update(is_pause_asked=True)


@transaction.atomic
def _make(experiment: Experiment, grid: Grid, cell: Cell, scenario: Scenario) -> None:
    slugs = {Side.A: cell.model_a, Side.B: cell.model_b}
    conversation = conversation_create(
        owner=experiment.owner,
        agents={
            side: AgentSpec(model=slug, temperature=cell.temperature, max_tokens=grid.max_tokens)
            for side, slug in slugs.items()
        },
        scenario=scenario,
        rules=_rules(grid),
        seed=cell.seed,
        is_limited=False,
    )
    Conversation.objects.filter(pk=conversation.pk).update(
        experiment=experiment, cell=cell.number, iteration=cell.iteration
    )


def _rules(grid: Grid) -> Rules:
    return Rules(
        max_turns=grid.turns,
        stop_phrase=grid.stop_phrase,
        stops_on_goodbye=grid.stops_on_goodbye,
        stops_on_repetition=grid.stops_on_repetition,
    )


def _models(grid: Grid) -> dict[str, LanguageModel]:
    """By slug. Raises ExperimentInvalid, AgentGone."""
    slugs = {slug for pair in grid.listed for slug in pair} if grid.pairs == "listed" else set(grid.models)
    found = {one.slug: one for one in LanguageModel.objects.filter(slug__in=slugs).select_related("endpoint")}
    if missing := sorted(slugs - found.keys()):
        raise ExperimentInvalid(f"The catalogue has no model {', '.join(missing)}.")
    if away := sorted(slug for slug, model in found.items() if not model.is_active):
        raise AgentGone(f"{', '.join(away)} cannot be asked. Choose other models.")
    return found


def _rates(model: LanguageModel, spoken: Mapping[str, Any], grid: Grid) -> Rates:
    most = grid.max_tokens or model.max_tokens or TURN_MAX_TOKENS
    return Rates(
        tokens=min(float(spoken.get("tokens") or TOKENS_A_TURN), most),
        seconds=float(spoken["latency"]) / 1000 if spoken.get("latency") else SECONDS_A_TURN,
        input_price=None if model.input_price is None else float(model.input_price),
        output_price=None if model.output_price is None else float(model.output_price),
    )


def _places(models: Mapping[str, LanguageModel]) -> int:
    """How many turns can be written at once, by the endpoints' own limits."""
    endpoints = {one.endpoint for one in models.values() if one.endpoint}
    limits = [one.max_streams for one in endpoints]
    return AT_ONCE if None in limits else min(AT_ONCE, sum(limit for limit in limits if limit))
