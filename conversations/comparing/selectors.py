"""Reads for comparing: which pair comes next, and one pair with all that is shown of it."""

import random
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Prefetch, Q, QuerySet

from accounts.models import User
from common.errors import NotFound
from conversations.comparing.units import Difference, Played, difference, played, tells_names
from conversations.models import Agent, Conversation, ConversationPair, Experiment, Turn
from conversations.selectors import conversations_whole

# Ended by themselves: what was stopped, cut off by a budget or imported says little of a model.
FINISHED = (
    Conversation.Reason.MAX_TURNS, Conversation.Reason.STOP_PHRASE, Conversation.Reason.GOODBYE,
    Conversation.Reason.REPETITION,
)  # fmt: skip
# For a draw so many scenarios are looked at, so many conversations of each, and so many pairs are looked through for
# names.
SHELVES = 50
LOOKED_AT = 500
TRIES = 100
SHARED = Q(experiment__sharing__in=[Experiment.Sharing.DIALOGUES, Experiment.Sharing.PROMPTS])


@dataclass(frozen=True, slots=True)
class Draw:
    """Two conversations for a vote; the first is to be shown as A. `is_blind`: whoever votes was told the models of
    neither before."""

    one: Played
    other: Played
    differs: Difference
    is_blind: bool


def readable_by(viewer: User) -> QuerySet[Conversation]:
    """What a person may have before them when they compare: their own, and those of experiments that are shared."""
    return Conversation.objects.kept().filter(Q(owner=viewer) | SHARED, owner__is_active=True)


def finished_of(viewer: User) -> QuerySet[Conversation]:
    """A person's own conversations that can be judged."""
    return _finished(readable_by(viewer).filter(owner=viewer))


def _finished(conversations: QuerySet[Conversation]) -> QuerySet[Conversation]:
    """Those that ended by themselves, and have nothing in them but what the two models said."""
    moderated = Turn.objects.filter(conversation=OuterRef("pk"), speaker=Turn.Speaker.MODERATOR)
    ended = conversations.filter(branched_from=None, state=Conversation.State.ENDED, reason__in=FINISHED)
    return ended.exclude(Exists(moderated))


def pair_next(viewer: User) -> Draw | None:
    """Two conversations that this person has not compared yet, by chance: their own, then those that others share. Of
    their own, those whose models they were told come last; of others', not at all. None where none was found: of
    very many scenarios only some are looked at."""
    pairs = ConversationPair.objects.filter(voter=viewer).values_list(
        "key", "decided_at", "conversation_a", "conversation_b"
    )
    seen: set[str] = set()
    told: set[UUID] = set()
    for key, decided_at, *both in pairs:
        seen.add(key)
        told.update(both if decided_at else ())
    others = _finished(readable_by(viewer).exclude(owner=viewer))
    for conversations, by in ((finished_of(viewer), ["scenario"]), (others, ["experiment", "scenario"])):
        draws = (draw for shelf in _shelves(conversations, *by) for draw in _draws(shelf, viewer, seen, told))
        for draw in islice(draws, TRIES):
            if not tells_names(conversations_whole([draw.one.id, draw.other.id])):
                return draw
    return None


def may_compare(viewer: User) -> bool:
    """Whether it is worth looking for a pair: cheap, where `pair_next` has to read to know."""
    shared = _finished(readable_by(viewer).exclude(owner=viewer))
    return pair_open(viewer) is not None or any(
        _counted(conversations, *by).exists()
        for conversations, by in ((finished_of(viewer), ["scenario"]), (shared, ["experiment", "scenario"]))
    )


def _counted(conversations: QuerySet[Conversation], *by: str) -> QuerySet[Conversation, dict[str, Any]]:
    """Scenarios of which there are two conversations at least."""
    counts = conversations.filter(scenario__isnull=False).order_by().values(*by).annotate(number=Count("pk"))
    return cast("QuerySet[Conversation, dict[str, Any]]", counts.filter(number__gte=2))


def _shelves(conversations: QuerySet[Conversation], *by: str) -> list[QuerySet[Conversation]]:
    """Those of one scenario together, some of them, by chance."""
    rows = _counted(conversations, *by).order_by("?")[:SHELVES]
    return [conversations.filter(**{name: row[name] for name in by}) for row in rows]


def _draws(shelf: QuerySet[Conversation], viewer: User, seen: set[str], told: set[UUID]) -> Iterator[Draw]:
    """Pairs that differ in one model, in random order, at most one for each conversation."""
    agents = Prefetch("agents", Agent.objects.defer("model__system_prompt"))
    rows = list(shelf.prefetch_related(agents).order_by("?")[:LOOKED_AT])
    named = {row.pk for row in rows if row.pk in told or names_known(row, viewer)}
    alike: dict[tuple[object, ...], list[Played]] = defaultdict(list)
    for row in rows:
        is_offered = row.owner_id == viewer.pk or row.pk not in named
        if is_offered and (found := played(row)):
            alike[found.settings].append(found)
    focuses = sorted((one for group in alike.values() for one in group), key=lambda one: one.id in named)
    for focus in focuses:
        for second in sorted(alike[focus.settings], key=lambda one: (one.id in named, random.random())):
            one, other = random.sample((focus, second), 2)
            differs = difference(one, other)
            if differs and pair_key(one.id, other.id) not in seen:
                yield Draw(one, other, differs, is_blind=not {one.id, other.id} & named)
                break


def names_known(conversation: Conversation, viewer: User) -> bool:
    """Whether this person has read it with its names: only its owner can, outside of a vote."""
    return conversation.owner_id == viewer.pk and conversation.named_at is not None


def pair_key(one: UUID, other: UUID) -> str:
    """The same for two conversations in either order."""
    return ":".join(sorted((one.hex, other.hex)))


def pair_whole(*, pair_id: UUID, viewer: User) -> ConversationPair:
    """A person's own pair with both conversations and all their parts, in a fixed number of queries.

    Raises NotFound, also where a conversation has been deleted or is shared no more, and where one that waits for its
    vote has come to name a model since it was drawn.
    """
    readable = readable_by(viewer)
    found = ConversationPair.objects.filter(pk=pair_id, voter=viewer)
    pair = found.filter(conversation_a__in=readable, conversation_b__in=readable).first()
    if pair is None:
        raise NotFound
    ids = [pair.conversation_a_id, pair.conversation_b_id]
    rows = {row.pk: row for row in conversations_whole(ids).select_related("scenario", "experiment")}
    pair.conversation_a, pair.conversation_b = rows[pair.conversation_a_id], rows[pair.conversation_b_id]
    if pair.decided_at is None and tells_names(rows.values()):
        raise NotFound
    return pair


def pair_open(viewer: User) -> ConversationPair | None:
    """The pair that was drawn for this person and waits for their vote."""
    return ConversationPair.objects.filter(voter=viewer, decided_at=None).first()


def pairs_of(viewer: User) -> QuerySet[ConversationPair]:
    """What a person has compared, newest first."""
    rows = ConversationPair.objects.filter(voter=viewer, decided_at__isnull=False)
    return rows.select_related("model_a", "model_b", "conversation_a__scenario", "conversation_a__experiment")


def pairs_readable(pairs: Collection[ConversationPair], viewer: User) -> set[UUID]:
    """Those of a person's pairs that can still be opened."""
    readable = readable_by(viewer)
    rows = ConversationPair.objects.filter(pk__in=[one.pk for one in pairs], voter=viewer)
    return set(rows.filter(conversation_a__in=readable, conversation_b__in=readable).values_list("pk", flat=True))
