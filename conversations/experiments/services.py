"""Every write of experiments, and what they will cost."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Avg

from accounts.jobs import job_cancel, job_create
from accounts.models import Job, User
from common.errors import NotFound
from conversations import selectors
from conversations.errors import AgentGone, ExperimentInvalid, StillSpeaking
from conversations.experiments.plan import Cell, Estimate, Grid, Rates, cells, estimate, grid_read, size_of
from conversations.experiments.selectors import kept_while_dear
from conversations.models import Conversation, Experiment, Scenario, Side, Turn
from conversations.requests import TURN_MAX_TOKENS
from conversations.services import AgentSpec, NewConversation, Rules, conversations_create, rules_check
from providers.client import CHARACTERS_A_TOKEN
from providers.models import LanguageModel
from providers.services import budget_check

KIND = "experiment"
# What a turn takes of a model that has not spoken here yet.
TOKENS_A_TURN = 120.0
SECONDS_A_TURN = 5.0
# How many turns are written at once where no endpoint says how many it allows; an assumption of estimates.
WRITTEN_AT_ONCE = 64
# So many conversations are stored in one transaction.
MADE_AT_ONCE = 500


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
    _scenarios(grid, owner)
    return grid


def experiment_estimate(*, owner: User, grid: Grid) -> Estimate:
    """What it takes, by what each model's turns took here so far."""
    models = _models(grid)
    keys = tuple(sorted(model.pk for model in models.values()))
    spoken = kept_while_dear(f"turns-of-models:{hash(keys)}", lambda: _spoken(keys))
    rates = {slug: _rates(model, spoken.get(model.pk, {})) for slug, model in models.items()}
    scenarios = _scenarios(grid, owner)
    told = [len(one.system_a) + len(one.system_b) + len(one.opening) for one in scenarios]
    return estimate(grid, rates, system_tokens=sum(told) / len(told) / 2 / CHARACTERS_A_TOKEN, at_once=_places(models))


@transaction.atomic
def experiment_create(*, owner: User, given: Mapping[str, Any]) -> Experiment:
    """Store an experiment; nothing is asked yet. Raises what `grid_check` raises, and BudgetSpent."""
    grid = grid_check(owner=owner, given=given)
    budget_check(user_id=owner.pk, contenders=_models(grid).values())
    return Experiment.objects.create(
        owner=owner,
        name=grid.name.strip(),
        grid=msgspec.to_builtins(grid),
        scenario_versions={one.slug: one.version for one in _scenarios(grid, owner)},
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


def experiment_share(*, experiment_id: UUID, owner: User, sharing: str) -> None:
    """Let others compare its conversations, or nobody but its owner. Votes that were given stay. Raises NotFound,
    ExperimentInvalid."""
    if sharing not in Experiment.Sharing.values:
        raise ExperimentInvalid(f"Unknown sharing. Known are: {', '.join(Experiment.Sharing.values)}.")
    if not Experiment.objects.filter(pk=experiment_id, owner=owner).update(sharing=sharing):
        raise NotFound


def conversations_make(*, experiment: Experiment) -> int:
    """Store the conversations of the plan that are not there yet, also those of models that were retired meanwhile,
    which stand still by themselves; return how many there are. Raises NotFound where a scenario is gone."""
    grid = msgspec.convert(experiment.grid, Grid)
    versions = experiment.scenario_versions
    found = Scenario.objects.filter(slug__in=versions)
    scenarios = {one.slug: one for one in found if versions[one.slug] == one.version}
    if gone := sorted(versions.keys() - scenarios.keys()):
        raise NotFound(f"There is no scenario {_quoted(gone)} in the version of this experiment any more.")
    plan = cells(grid)
    while group := list(islice(plan, MADE_AT_ONCE)):
        _make(experiment, grid, group, scenarios)
    return experiment.conversations.count()


def conversations_pause(*, experiment: Experiment) -> None:
    """Let those that are under way stand still behind their turns."""
    running = experiment.conversations.filter(state=Conversation.State.RUNNING)
    running.update(is_pause_asked=True)


@transaction.atomic
def _make(experiment: Experiment, grid: Grid, group: Sequence[Cell], scenarios: Mapping[str, Scenario]) -> None:
    Experiment.objects.select_for_update().get(pk=experiment.pk)  # one process after the other
    numbers = [cell.number for cell in group]
    there = set(experiment.conversations.filter(cell__in=numbers).values_list("cell", flat=True))
    conversations_create(
        owner=experiment.owner,
        wanted=[
            NewConversation(
                agents={
                    side: AgentSpec(model=slug, sampling=cell.sampling)
                    for side, slug in ((Side.A, cell.model_a), (Side.B, cell.model_b))
                },
                scenario=scenarios[cell.scenario],
                rules=_rules(grid),
                seed=cell.seed,
                experiment=experiment,
                cell=cell.number,
                iteration=cell.iteration,
            )
            for cell in group
            if cell.number not in there
        ],
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
        words = f"The catalogue has no model {_quoted(missing)}."
        raise ExperimentInvalid(words, fields={_models_key(grid): [words]})
    if away := sorted(slug for slug, model in found.items() if not model.is_active):
        words = f"{_quoted(away)} cannot be asked. Choose other models."
        raise AgentGone(words, fields={_models_key(grid): [words]})
    return found


def _scenarios(grid: Grid, viewer: User) -> list[Scenario]:
    """In the versions that the grid names, else the newest. Raises NotFound."""
    found = []
    for slug in dict.fromkeys(grid.scenarios):
        version = grid.scenario_versions.get(slug)
        try:
            found.append(selectors.scenario_get(slug=slug, viewer=viewer, version=version))
        except NotFound as error:
            words = f"There is no scenario “{slug}”{f' in version {version}' if version is not None else ''}."
            raise NotFound(words, fields={"scenarios": [words]}) from error
    return found


def _models_key(grid: Grid) -> str:
    return "listed" if grid.pairs == "listed" else "models"


def _quoted(slugs: Iterable[str]) -> str:
    return ", ".join(f"“{slug}”" for slug in slugs)


def _spoken(models: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Mean tokens and milliseconds of the turns of each model."""
    said = Turn.objects.filter(model__in=models, status=Turn.Status.FINISHED).order_by().values("model")
    means = said.annotate(tokens=Avg("output_tokens"), latency=Avg("latency_ms"))
    return {row["model"]: dict(row) for row in means}


def _rates(model: LanguageModel, spoken: Mapping[str, Any]) -> Rates:
    return Rates(
        tokens=float(spoken.get("tokens") or TOKENS_A_TURN),
        seconds=float(spoken["latency"]) / 1000 if spoken.get("latency") else SECONDS_A_TURN,
        input_price=None if model.input_price is None else float(model.input_price),
        output_price=None if model.output_price is None else float(model.output_price),
        most=model.max_tokens or TURN_MAX_TOKENS,
    )


def _places(models: Mapping[str, LanguageModel]) -> int:
    """How many turns can be written at once, by the endpoints' own limits."""
    endpoints = {one.endpoint for one in models.values() if one.endpoint}
    limits = [one.max_streams for one in endpoints]
    return WRITTEN_AT_ONCE if None in limits else sum(limit for limit in limits if limit)
