"""Every read of experiments that is more than a get."""

import re
import time
from collections.abc import Callable, Collection, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any, TypeVar, cast
from uuid import UUID

from django.core.cache import cache
from django.db.models import Count, Exists, Min, OuterRef, Prefetch, Q, QuerySet, Sum
from django.utils import timezone

from accounts.models import User
from common.clock import has_lapsed
from common.errors import NotFound
from conversations.experiments.journal import Key, key_of
from conversations.files.log import log_row, log_rows
from conversations.models import Conversation, Experiment, Turn

CONVERSATIONS_A_READ = 100
NEWEST = 20
PACE_OVER = timedelta(minutes=5)
PACE_TURNS_MIN = 2
DEAR_SECONDS = 0.1
T = TypeVar("T")
UUID_SHAPE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
State, Reason = Conversation.State, Conversation.Reason


def experiment_get(*, experiment_id: UUID, viewer: User) -> Experiment:
    """The viewer's own experiment. Raises NotFound."""
    found = Experiment.objects.select_related("job").filter(pk=experiment_id, owner=viewer).first()
    if found is None:
        raise NotFound
    return found


def experiment_is_played(experiment: Experiment) -> bool:
    """Whether a process plays it now, or its job waits for one."""
    held = experiment.held_until is not None and not has_lapsed(experiment.held_until, timezone.now())
    return held or (experiment.job is not None and not experiment.job.is_over)


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


def experiment_pace(experiment: Experiment) -> dict[str, float | None]:
    """How many turns a minute were said in the last minutes, and in how many seconds the rest is said at that pace;
    None where nothing was said of late, or nothing is left."""
    now = timezone.now()
    said = experiment_turns(experiment)
    lately = said.filter(finished_at__gt=now - PACE_OVER).aggregate(turns=Count("pk"), since=Min("finished_at"))
    if lately["turns"] < PACE_TURNS_MIN:
        return {"turns_a_minute": None, "seconds_left": None}
    minutes = max((now - lately["since"]).total_seconds(), 1.0) / 60
    pace = lately["turns"] / minutes
    open_ones = experiment.conversations.kept().exclude(state=State.ENDED)
    planned = open_ones.aggregate(turns=Sum("max_turns", default=0))["turns"]
    left = planned - said.filter(conversation__in=open_ones).count()
    return {"turns_a_minute": round(pace, 1), "seconds_left": round(60 * left / pace) if left > 0 else None}


def experiment_progress(experiment: Experiment) -> dict[str, Any]:
    """`experiment_counts` and `experiment_pace`. Of a large experiment they are kept for a while, so that a page that
    looks every other second costs no more than a twentieth of a core."""
    return kept_while_dear(
        f"experiment-progress:{experiment.pk}", lambda: experiment_counts(experiment) | experiment_pace(experiment)
    )


def kept_while_dear(name: str, make: Callable[[], T]) -> T:
    """What `make` returns, or returned a while ago: where it took noticeably long, for twenty times as long."""
    if (found := cache.get(name)) is not None:
        return cast(T, found)
    began = time.monotonic()
    made = make()
    if (took := time.monotonic() - began) > DEAR_SECONDS:
        cache.set(name, made, timeout=20 * took)
    return made


def experiment_log(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """A row for each turn that has ended, conversation by conversation in the order of the plan; some are in memory."""
    for conversation in _with_turns(experiment, Q(is_current=True) & ~Q(status__in=Turn.LIVE), "position"):
        yield from log_rows(conversation)


def _with_turns(experiment: Experiment, which: Q, order: str) -> Iterator[Conversation]:
    """Group by group, so that a reader who takes his time holds no cursor open."""
    ids = list(experiment.conversations.kept().order_by("cell").values_list("pk", flat=True))
    parts = Prefetch("turns", Turn.objects.filter(which, number__isnull=False).order_by(order)), "agents"
    for at in range(0, len(ids), CONVERSATIONS_A_READ):
        rows = Conversation.objects.filter(pk__in=ids[at : at + CONVERSATIONS_A_READ]).order_by("cell")
        yield from rows.select_related("scenario").prefetch_related(*parts)


def rows_ended(experiment: Experiment, known: Collection[Key]) -> Iterator[dict[str, Any]]:
    """The log's row of every attempt at a turn that has ended and is not among `known`; some are in memory."""
    ended = Q(status__in=[Turn.Status.FINISHED, Turn.Status.FAILED, Turn.Status.STOPPED])
    turns = Turn.objects.filter(ended, conversation__experiment=experiment, number__isnull=False)
    if turns.count() == len(known):
        return
    for conversation in _with_turns(experiment, ended, "finished_at"):
        models = {agent.side: agent.model_slug for agent in conversation.agents.all()}
        written = (log_row(conversation, models, turn) for turn in conversation.turns.all())
        yield from (row for row in written if key_of(row) not in known)


def experiment_turns(experiment: Experiment) -> QuerySet[Turn]:
    """The turns that were said."""
    return Turn.objects.filter(conversation__experiment=experiment, is_current=True, status=Turn.Status.FINISHED)


def turns_newest(experiment: Experiment) -> QuerySet[Turn]:
    """What was said last, newest first."""
    return experiment_turns(experiment).select_related("model").order_by("-finished_at")[:NEWEST]


def turns_by_id(ids: Collection[UUID]) -> dict[UUID, Turn]:
    """These turns, with what a list shows of them."""
    return Turn.objects.select_related("model", "conversation__scenario").in_bulk(list(ids))


def experiments_begun(*, owner: User, named: Collection[str], most: int) -> list[Experiment]:
    """A person's newest experiments that have conversations, and those that are `named` by their ids."""
    ids = [UUID(one) for one in named if UUID_SHAPE.fullmatch(one)]
    own = Experiment.objects.filter(owner=owner).order_by("-created_at")
    newest = own.filter(Exists(Conversation.objects.filter(experiment=OuterRef("pk"))))[:most]
    return list({one.pk: one for one in [*own.filter(pk__in=ids), *newest]}.values())
