"""Every read of conversations that is more than a get."""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Count, F, Prefetch, Q, QuerySet

from accounts.models import User
from common.errors import NotFound
from conversations.measures import Line, Measures, measure
from conversations.models import Agent, Analysis, Conversation, Scenario, Turn
from leaderboard.selectors import ratings_now
from providers.models import LanguageModel

QUERY_MAX_CHARACTERS = 200


def conversation_whole(*, conversation_id: UUID, viewer: User) -> Conversation:
    """The viewer's own conversation with its agents, standing turns and analyses, in a fixed number of queries.

    Raises NotFound where there is none, it is deleted, or it is somebody else's.
    """
    own = Conversation.objects.kept().filter(owner=viewer, owner__is_active=True)
    found = _whole(own).filter(pk=conversation_id).first()
    if found is None:
        raise NotFound
    return found


def conversations_whole(ids: Collection[UUID]) -> QuerySet[Conversation]:
    """These conversations with all their parts, for work that nobody watches."""
    return _whole(Conversation.objects.kept().filter(pk__in=ids))


def conversations_stored(*, owner: User) -> QuerySet[Conversation]:
    """All conversations of a person with all their parts, deleted ones that are still stored, too; oldest first."""
    return _whole(Conversation.objects.filter(owner=owner)).order_by("created_at", "pk")


def _whole(conversations: QuerySet[Conversation]) -> QuerySet[Conversation]:
    turns = Turn.objects.filter(is_current=True).order_by("position")
    return conversations.select_related("scenario").prefetch_related(
        Prefetch("agents", Agent.objects.select_related("model__endpoint").order_by("side")),
        Prefetch("turns", turns),
        Prefetch("analyses", Analysis.objects.select_related("model").order_by("created_at")),
    )


def conversations_of(*, owner: User, query: str = "") -> QuerySet[Conversation]:
    """A person's conversations, newest first, each with `turns_done`; those of experiments are left out. `query` is
    searched in what was said."""
    query = query.replace("\0", "").strip()[:QUERY_MAX_CHARACTERS]  # PostgreSQL takes no NUL
    found = Conversation.objects.kept().filter(owner=owner, experiment=None)
    if query:
        said = Turn.objects.filter(is_current=True, text__icontains=query).values("conversation")
        found = found.filter(Q(pk__in=said) | Q(seed_prompt__icontains=query))
    done = Count("turns", filter=Q(turns__is_current=True, turns__number__isnull=False))
    return (
        found.annotate(turns_done=done)
        .order_by("-created_at", "-pk")
        .select_related("scenario")
        .prefetch_related(Prefetch("agents", Agent.objects.select_related("model").order_by("side")))
    )


def agents_turns(conversation: Conversation) -> list[Turn]:
    """The standing turns of the agents, in order; needs a conversation from `conversation_whole`."""
    return [turn for turn in conversation.turns.all() if turn.number is not None]


def measures_of(conversation: Conversation) -> Measures:
    """What can be counted in it; needs a conversation from `conversation_whole`."""
    return measure(
        [
            Line(turn.speaker, turn.text, turn.latency_ms, turn.output_tokens, turn.is_refusal)
            for turn in agents_turns(conversation)
            if turn.is_answer
        ]
    )


def analyst_default() -> LanguageModel | None:
    """The strongest model that answers: the best rated, else the dearest, else the first by name."""
    models = list(LanguageModel.objects.available().select_related("endpoint"))
    ratings = ratings_now([model.pk for model in models])

    def strength(model: LanguageModel) -> tuple[float, float, bool]:
        rating = ratings.get(model.pk)
        value = float("-inf") if rating is None or rating.rating is None else rating.rating
        return value, float(model.output_price or 0), not model.system_prompt

    return max(models, key=strength, default=None)


def scenarios_for(viewer: User) -> QuerySet[Scenario]:
    """The newest version of each scenario that this person may use: the library's and their own."""
    return Scenario.objects.filter(Q(owner=None) | Q(owner=viewer), is_current=True).order_by(
        F("owner").asc(nulls_first=True), "name"
    )


def scenario_get(*, slug: str, viewer: User, version: int | None = None) -> Scenario:
    """A scenario by its slug, the newest version where none is named. Raises NotFound."""
    found = Scenario.objects.filter(Q(owner=None) | Q(owner=viewer), slug=slug)
    found = found.filter(is_current=True) if version is None else found.filter(version=version)
    scenario = found.first()
    if scenario is None:
        raise NotFound("There is no such scenario.")
    return scenario
