"""Every read of battles that is more than a get."""

import random
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, F, IntegerField, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import User
from battles.models import Battle, Image, Pool, Preference, Prompt, Reaction, Response, Side, Turn
from common.errors import NotFound
from providers.models import LanguageModel

SUGGESTIONS = 6
QUERY_MAX_CHARACTERS = 200


def _whole(battles: QuerySet[Battle], viewer: User | None) -> QuerySet[Battle]:
    responses = Response.objects.filter(is_current=True).select_related("side").order_by("side__label")
    if viewer:
        responses = responses.prefetch_related(
            Prefetch("reactions", Reaction.objects.filter(user=viewer), to_attr="own_reactions")
        )
    return battles.prefetch_related(
        Prefetch("sides", Side.objects.select_related("model__endpoint")),
        Prefetch("turns", Turn.objects.order_by("number").prefetch_related(Prefetch("responses", responses), "images")),
        Prefetch("preferences", Preference.objects.select_related("winner")),
    )


def battle_whole(*, battle_id: UUID, viewer: User) -> Battle:
    """The viewer's own battle with its sides, turns, standing responses and preference, in a fixed number of queries.

    Raises NotFound where there is none, it is deleted, or it is somebody else's.
    """
    # An open socket must not outlive the account, so its state is read each time.
    own = Battle.objects.kept().filter(owner=viewer, owner__is_active=True)
    battle = _whole(own, viewer).filter(pk=battle_id).first()
    if battle is None:
        raise NotFound
    return battle


def battles_stored(*, owner: User) -> QuerySet[Battle]:
    """All battles of a person with all their parts, deleted ones that are still stored, too; oldest first."""
    return _whole(Battle.objects.filter(owner=owner), None).order_by("created_at", "pk")


def battle_shared(*, token: str) -> Battle:
    """A battle by its share link. Raises NotFound."""
    battle = _whole(Battle.objects.shared().filter(share_token=token), None).first()
    if battle is None:
        raise NotFound
    return battle


def image_seen(*, image_id: UUID, viewer: User | AnonymousUser) -> Image:
    """An image as file and size: one's own, or of a battle that is shared up to its turn. Raises NotFound."""
    seen = Q(turn__battle__in=Battle.objects.shared(), turn__number__lte=F("turn__battle__shared_turns"))
    if viewer.is_authenticated:
        own = Battle.objects.kept().filter(owner=viewer)
        seen |= Q(turn=None, owner=viewer) | Q(turn__battle__in=own)
    image = Image.objects.filter(seen, pk=image_id).first()
    if image is None:
        raise NotFound
    return image


def battles_of(*, owner: User, query: str = "") -> QuerySet[Battle]:
    """A person's battles, newest first, each with `first_prompt` and how many `images`; `query` is searched in all
    prompts."""
    query = query.replace("\0", "").strip()[:QUERY_MAX_CHARACTERS]  # PostgreSQL takes no NUL
    battles = Battle.objects.kept().filter(owner=owner)
    if query:
        battles = battles.filter(pk__in=Turn.objects.filter(prompt__icontains=query).values("battle"))
    first_prompt = Turn.objects.filter(battle=OuterRef("pk"), number=1).values("prompt")
    counts = Image.objects.filter(turn__battle=OuterRef("pk")).order_by().values("turn__battle").annotate(n=Count("pk"))
    images = Coalesce(Subquery(counts.values("n"), output_field=IntegerField()), 0)
    return battles.annotate(first_prompt=Subquery(first_prompt), images=images).prefetch_related(
        Prefetch("sides", Side.objects.select_related("model")),
        Prefetch("preferences", Preference.objects.select_related("winner")),
    )


def suggestions(*, rng: random.Random | None = None) -> list[Prompt]:
    """A few prompts to start with, drawn anew each time."""
    prompts = list(Prompt.objects.filter(prompt_set__is_suggested=True))
    return (rng or random.Random()).sample(prompts, min(SUGGESTIONS, len(prompts)))


def pools_listed() -> list[dict[str, Any]]:
    """The pools in which two models can meet, each with the slugs of its models; in two queries."""
    models = list(LanguageModel.objects.active().filter(sampling_weight__gt=0))
    found = [
        {
            "slug": pool.slug,
            "name": pool.name,
            "description": pool.description,
            "models": [model.slug for model in models if pool.holds(model)],
        }
        for pool in Pool.objects.all()
    ]
    return [pool for pool in found if len(pool["models"]) >= 2]


def sides_answered(battle: Battle) -> set[int]:
    """Ids of the sides that have an answer in some turn; needs a battle from `battle_whole`."""
    return {response.side_id for turn in battle.turns.all() for response in turn.responses.all() if response.is_answer}


def is_votable(battle: Battle) -> bool:
    """Whether a vote could be taken now; needs a battle from `battle_whole`."""
    last = list(battle.turns.all())[-1:]
    is_busy = any(response.is_live for turn in last for response in turn.responses.all())
    return may_be_judged(
        is_judged=bool(battle.preferences.all()), is_busy=is_busy, answered=len(sides_answered(battle))
    )


def may_be_judged(*, is_judged: bool, is_busy: bool, answered: int) -> bool:
    """The rule: nothing is being written, at least two sides have answered in some turn, and nobody has voted."""
    return not is_judged and not is_busy and answered >= 2


def preference_choice(preference: Preference) -> str:
    """The choice as it was made: the winner's label, `tie` or `both_bad`."""
    return cast(Side, preference.winner).label if preference.winner_id else preference.choice
