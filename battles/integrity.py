"""Why a vote does not count. It is taken without a word to the voter, kept, and left out of the ratings; an
administrator sees the reason and can reverse it."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Q

from accounts.models import User
from battles.models import Battle, Preference
from common.identity import asks_identity, names_itself
from common.reading import Pace, is_too_fast
from leaderboard.exclusions import Exclusion

LOOKED_AT = 50  # earlier votes of one person on one prompt


def exclusion_of(*, battle: Battle, voter: User, texts: Mapping[str, str], now: datetime) -> str:
    """The reason why this person's vote does not count, empty if it does; needs a battle from `battle_whole`.

    Only a blind battle can lose its blindness: where names were known from the start, nothing is left out for that.
    `texts` are the judged answers by label.
    """
    prompts = [turn.prompt for turn in battle.turns.all()]
    if battle.is_blind:
        if battle.revealed_at is not None:
            return Exclusion.AFTER_REVEAL
        if any(asks_identity(prompt) for prompt in prompts):
            return Exclusion.ASKED_IDENTITY
        if any(names_itself(text, _names(battle)) for text in texts.values()):
            return Exclusion.NAMED_ITSELF
    if _was_judged_before(battle, voter.pk, prompts):
        return Exclusion.DUPLICATE
    if _was_too_fast(battle, now):
        return Exclusion.TOO_FAST
    if _are_too_many(voter.pk, now):
        return Exclusion.RATE
    return Exclusion.FLAGGED if User.objects.filter(pk=voter.pk).exclude(flagged_at=None).exists() else ""


def _names(battle: Battle) -> Collection[str]:
    models = [side.model for side in battle.sides.all()]
    return {name for model in models for name in (model.name, model.organisation) if name}


def _was_judged_before(battle: Battle, voter_id: int, prompts: list[str]) -> bool:
    """Whether this person has judged the same models on the same prompt, by a vote that counts."""
    models = sorted(side.model_id for side in battle.sides.all())
    earlier = Preference.objects.filter(
        voter=voter_id, exclusion="", battle__turns__number=1, battle__turns__prompt=prompts[0]
    ).exclude(battle=battle)
    for other in earlier.prefetch_related("battle__sides").distinct()[:LOOKED_AT]:
        if sorted(side.model_id for side in other.battle.sides.all()) == models:
            return True
    return False


def _was_too_fast(battle: Battle, now: datetime) -> bool:
    """Only the last turn is looked at: the earlier ones were there for longer. Without times nobody is too fast."""
    answers = [r for turn in list(battle.turns.all())[-1:] for r in turn.responses.all() if r.is_answer]
    shown = [
        r.started_at + timedelta(milliseconds=r.first_token_ms)
        for r in answers
        if r.started_at and r.first_token_ms is not None
    ]
    ends = [r.finished_at for r in answers if r.finished_at]
    if not ends or len(shown) < len(answers):
        return False
    pace = Pace(timedelta(seconds=settings.VOTE_LEAST_SECONDS), settings.VOTE_WORDS_PER_MINUTE)
    return is_too_fast(
        texts=[r.text for r in answers], visible_at=max(shown), ended_at=max(ends), voted_at=now, pace=pace
    )


def _are_too_many(voter_id: int, now: datetime) -> bool:
    """Whether this is one more than a person may give in a minute or an hour; those that do not count are counted
    here, too, or each second one would get through."""
    limits = {"minute": settings.VOTES_PER_MINUTE, "hour": settings.VOTES_PER_HOUR}
    if not any(limits.values()):
        return False
    given = Preference.objects.filter(voter=voter_id, created_at__gt=now - timedelta(hours=1)).aggregate(
        hour=Count("pk"), minute=Count("pk", filter=Q(created_at__gt=now - timedelta(minutes=1)))
    )
    return any(limit and given[span] >= limit for span, limit in limits.items())
