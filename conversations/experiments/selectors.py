"""Every read of experiments that is more than a get."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any
from uuid import UUID

import msgspec
from django.db.models import Count, F, IntegerField, Q, QuerySet, Sum
from django.db.models.functions import Cast, Length

from accounts.models import User
from common.errors import NotFound
from conversations.experiments.analysing import Fact
from conversations.experiments.plan import Grid, cells, size_of
from conversations.files.log import log_rows
from conversations.models import Conversation, Experiment, Turn
from conversations.selectors import conversations_whole

CONVERSATIONS_A_READ = 50
NEWEST = 8
MEASURES = {
    "latency_ms": F("latency_ms"), "output_tokens": F("output_tokens"), "length": Length("text"),
    "refusals": Cast("is_refusal", IntegerField()),
}  # fmt: skip
GROUPS = {"model": F("model__slug"), "scenario": F("conversation__scenario__slug"), "turn": F("number")}
State, Reason = Conversation.State, Conversation.Reason


def experiment_get(*, experiment_id: UUID, viewer: User) -> Experiment:
    """The viewer's own experiment. Raises NotFound."""
    found = Experiment.objects.select_related("job").filter(pk=experiment_id, owner=viewer).first()
    if found is None:
        raise NotFound
    return found


def experiment_counts(experiment: Experiment) -> dict[str, Any]:
    """How far it is: conversations by state, turns, tokens and US dollars so far, and errors by kind."""
    conversations = experiment.conversations.kept().aggregate(
        conversations=Count("pk"),
        ended=Count("pk", filter=Q(state=State.ENDED)),
        running=Count("pk", filter=Q(state=State.RUNNING)),
        failed=Count("pk", filter=Q(state=State.PAUSED, reason__in=[Reason.FAILED, Reason.REFUSED])),
    )
    turns = Turn.objects.filter(conversation__experiment=experiment)
    sums = turns.aggregate(
        turns=Count("pk", filter=Q(is_current=True, status=Turn.Status.FINISHED)),
        refusals=Count("pk", filter=Q(is_current=True, is_refusal=True)),
        input_tokens=Sum("input_tokens", default=0),
        output_tokens=Sum("output_tokens", default=0),
        dollars=Sum("cost", default=Decimal(0)),
    )
    cost = float(sums.pop("dollars"))
    errors = turns.exclude(error_kind="").order_by().values_list("error_kind").annotate(n=Count("pk"))
    planned = {"turns_planned": experiment.turns_planned}
    return conversations | sums | planned | {"cost": cost, "errors": dict(errors)}


def experiment_log(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """A row for each turn that has ended, conversation by conversation in the order of the plan; some are in memory."""
    ids = list(experiment.conversations.kept().order_by("cell").values_list("pk", flat=True))
    for at in range(0, len(ids), CONVERSATIONS_A_READ):
        group = ids[at : at + CONVERSATIONS_A_READ]
        whole = {one.pk: one for one in conversations_whole(group)}
        for id_ in group:
            if id_ in whole:
                yield from log_rows(whole[id_])


@dataclass(frozen=True, slots=True)
class Spot:
    """One conversation in the table of an experiment."""

    id: UUID
    state: str
    turns: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """One pair at one temperature; a list of spots for each scenario, in the order of the table's head."""

    model_a: str
    model_b: str
    temperature: float
    spots: tuple[tuple[Spot, ...], ...]


def experiment_table(experiment: Experiment) -> tuple[list[str], list[TableRow]]:
    """The scenarios, and a row for each pair and temperature."""
    grid = msgspec.convert(experiment.grid, Grid)
    done = Count("turns", filter=Q(turns__is_current=True, turns__status=Turn.Status.FINISHED))
    rows = experiment.conversations.kept().annotate(done=done).order_by("cell")
    spots: dict[int, list[Spot]] = {}
    columns = size_of(grid) // grid.iterations
    for pk, cell, state, reason, turns in rows.values_list("pk", "cell", "state", "reason", "done"):
        shown = "failed" if reason in (Reason.FAILED, Reason.REFUSED) else state
        spots.setdefault((cell or 0) % columns, []).append(Spot(pk, shown, turns))
    scenarios = list(dict.fromkeys(grid.scenarios))
    table: dict[tuple[str, str, float], dict[str, tuple[Spot, ...]]] = {}
    for cell_ in islice(cells(grid), columns):
        row = table.setdefault((cell_.model_a, cell_.model_b, cell_.temperature), {})
        row[cell_.scenario] = tuple(spots.get(cell_.number, ()))
    return scenarios, [TableRow(*key, tuple(row[one] for one in scenarios)) for key, row in table.items()]


def turns_newest(experiment: Experiment) -> QuerySet[Turn]:
    """What was said last, newest first."""
    said = Turn.objects.filter(conversation__experiment=experiment, is_current=True, status=Turn.Status.FINISHED)
    return said.select_related("model").order_by("-finished_at")[:NEWEST]


def experiment_turns(experiment: Experiment, *, model: str = "", scenario: str = "") -> QuerySet[Turn]:
    """The turns that were said, of one model or in one scenario where such are named."""
    said = Turn.objects.filter(conversation__experiment=experiment, is_current=True, status=Turn.Status.FINISHED)
    if model:
        said = said.filter(model__slug=model)
    return said.filter(conversation__scenario__slug=scenario) if scenario else said


def experiment_facts(turns: QuerySet[Turn], *, measure: str, by: str) -> list[Fact]:
    """One fact a turn, ordered by group; turns whose measure is not known are left out."""
    rows = turns.order_by().annotate(fact=MEASURES[measure], grouped=GROUPS[by]).exclude(fact=None)
    found = rows.order_by("grouped").values_list("grouped", "conversation_id", "fact")
    return [Fact(str(group), conversation, float(value)) for group, conversation, value in found.iterator()]
