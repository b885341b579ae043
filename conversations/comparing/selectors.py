"""Reads for comparing: which pair comes next, and one pair with all that is shown of it."""

import random
from collections import defaultdict
from collections.abc import Iterator
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet

from accounts.models import User
from common.errors import NotFound
from conversations.comparing.units import Difference, Played, difference, played, tells_names
from conversations.models import Agent, Conversation, ConversationPair, Turn
from conversations.selectors import conversations_whole

# Ended by themselves: what was stopped, cut off by a budget or imported says little of a model.
FINISHED = (
    Conversation.Reason.MAX_TURNS, Conversation.Reason.STOP_PHRASE, Conversation.Reason.GOODBYE,
    Conversation.Reason.REPETITION,
)  # fmt: skip
# Of one scenario so many are looked at for a draw, and so many pairs are looked through for names.
LOOKED_AT = 500
TRIES = 100


def finished_of(viewer: User) -> QuerySet[Conversation]:
    """A person's own conversations that can be judged: ended by themselves, and with nothing in them but what the two
    models said."""
    moderated = Turn.objects.filter(conversation=OuterRef("pk"), speaker=Turn.Speaker.MODERATOR)
    return (
        Conversation.objects.kept()
        .filter(owner=viewer, owner__is_active=True, branched_from=None)
        .filter(state=Conversation.State.ENDED, reason__in=FINISHED)
        .exclude(Exists(moderated))
    )


def pair_next(viewer: User) -> tuple[Played, Played, Difference] | None:
    """Two conversations that this person has not compared yet, by chance; those that nobody has read with names before
    others. The first is to be shown as A. None where there are none."""
    finished = finished_of(viewer).filter(scenario__isnull=False)
    counts = finished.order_by().values("scenario").annotate(number=Count("pk")).filter(number__gte=2)
    scenarios = [row["scenario"] for row in counts]
    random.shuffle(scenarios)
    seen = set(ConversationPair.objects.filter(voter=viewer).values_list("key", flat=True))
    tries = 0
    for scenario in scenarios:
        for one, other in _candidates(finished.filter(scenario=scenario), seen):
            found = difference(one, other)
            tries += 1
            if found and not tells_names(conversations_whole([one.id, other.id])):
                return one, other, found
            if tries >= TRIES:
                return None
    return None


def _candidates(conversations: QuerySet[Conversation], seen: set[str]) -> Iterator[tuple[Played, Played]]:
    """Pairs that differ in one model, in random order, at most one for each conversation."""
    agents = Prefetch("agents", Agent.objects.defer("model__system_prompt"))
    rows = [played(row) for row in conversations.prefetch_related(agents).order_by("?")[:LOOKED_AT]]
    alike: dict[tuple[object, ...], list[Played]] = defaultdict(list)
    for row in rows:
        if row:
            alike[row.settings].append(row)
    focuses = sorted((row for group in alike.values() for row in group), key=lambda row: not row.is_blind)
    for focus in focuses:
        others = sorted(alike[focus.settings], key=lambda row: (not row.is_blind, random.random()))
        for other in others:
            if difference(focus, other) and pair_key(focus.id, other.id) not in seen:
                yield (focus, other) if random.random() < 0.5 else (other, focus)
                break


def pair_key(one: UUID, other: UUID) -> str:
    """The same for two conversations in either order."""
    return ":".join(sorted((one.hex, other.hex)))


def pair_whole(*, pair_id: UUID, viewer: User) -> ConversationPair:
    """A person's own pair with both conversations and all their parts, in a fixed number of queries. Raises NotFound,
    also where a conversation has been deleted."""
    parts = ("conversation_a", "conversation_b")
    kept = {f"{part}__deleted_at": None for part in parts}
    pair = ConversationPair.objects.filter(pk=pair_id, voter=viewer, **kept).first()
    if pair is None:
        raise NotFound
    rows = {row.pk: row for row in conversations_whole([pair.conversation_a_id, pair.conversation_b_id])}
    pair.conversation_a, pair.conversation_b = rows[pair.conversation_a_id], rows[pair.conversation_b_id]
    return pair


def pair_open(viewer: User) -> ConversationPair | None:
    """The pair that was drawn for this person and waits for their vote."""
    return ConversationPair.objects.filter(voter=viewer, decided_at=None).first()


def pairs_of(viewer: User) -> QuerySet[ConversationPair]:
    """What a person has compared, newest first."""
    rows = ConversationPair.objects.filter(voter=viewer, decided_at__isnull=False)
    return rows.select_related("model_a", "model_b", "conversation_a__scenario")
