"""Why a vote does not count. It is taken without a word to the voter, kept, and left out of the ratings; an
administrator sees the reason and can reverse it."""

from collections.abc import Collection, Mapping

from battles.identity import asks_identity, names_itself
from battles.models import Battle, Exclusion, Preference

LOOKED_AT = 50  # earlier votes of one person on one prompt


def exclusion_of(*, battle: Battle, voter_id: int, texts: Mapping[str, str]) -> str:
    """The reason why this person's vote does not count, empty if it does; needs a battle from `battle_whole`.

    Only a blind battle can lose its blindness: where names were known from the start, nothing is left out for that.
    `texts` are the judged answers by label.
    """
    prompts = [turn.prompt for turn in battle.turns.all()]
    if battle.is_blind:
        if any(asks_identity(prompt) for prompt in prompts):
            return Exclusion.ASKED_IDENTITY
        if any(names_itself(text, _names(battle)) for text in texts.values()):
            return Exclusion.NAMED_ITSELF
    return Exclusion.DUPLICATE if _was_judged_before(battle, voter_id, prompts) else ""


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
