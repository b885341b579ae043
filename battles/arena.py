"""What stands behind `arena_api`: runs, their judgement, and what the tool's scripts read back."""

from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

from accounts.models import User
from battles import blinding, selectors, services
from battles.errors import ChoiceInvalid
from battles.exports.export import Export
from battles.exports.selection import Selection
from battles.models import Battle, Preference
from common.errors import NotFound
from leaderboard.selectors import ratings_now
from leaderboard.shown import shown
from leaderboard.statistics.suggesting import Strategy, suggest
from leaderboard.statistics.types import Z95
from providers.models import LanguageModel


def run_shown(*, battle_id: UUID, owner: User) -> dict[str, Any]:
    """A run with what each model answered, in the order in which they stand. Raises NotFound."""
    battle = selectors.battle_whole(battle_id=battle_id, viewer=owner)
    turn = list(battle.turns.all())[-1]
    models = {side.pk: side.model for side in battle.sides.all()}
    return {
        "id": str(battle.pk),
        "prompt": turn.prompt,
        "results": [
            {
                "label": models[response.side_id].slug,
                "response": response.text,
                "latency_ms": response.latency_ms,
                "error": blinding.failure_shown(battle, response)[1] or None,
            }
            for response in turn.responses.all()
        ],
    }


def run_judged(*, owner: User, battle_id: UUID | None, prompt: str, winner: str, ranking: Sequence[str]) -> Preference:
    """Record a preference on a run, by its id or as the latest with this prompt. Slugs name the models.

    Raises NotFound, ChoiceInvalid, AlreadyVoted, NotVotable.
    """
    runs = Battle.objects.kept().filter(owner=owner, mode=Battle.Mode.LINEUP, is_blind=False)
    runs = runs.filter(pk=battle_id) if battle_id else runs.filter(turns__prompt=prompt, preferences__isnull=True)
    battle = runs.order_by("-created_at").first()
    if battle is None:
        raise NotFound("There is no such run of yours that is not judged yet.")
    labels = {side.model.slug: side.label for side in battle.sides.select_related("model")}
    for slug in [winner, *ranking]:
        if slug not in labels:
            raise ChoiceInvalid(f"{slug} took no part in this run. Those who did: {', '.join(labels)}.")
    return services.preference_record(
        battle_id=battle.pk,
        voter=owner,
        choice="" if ranking else labels[winner],
        ranking=[labels[slug] for slug in ranking],
    )


def leaderboard_shown() -> list[dict[str, Any]]:
    """The rows of the leaderboard, best first."""
    ratings = [standing.rating for standing in shown({}).standings]
    return [
        {
            "label": rating.model.slug,
            "bt_score": rating.rating,
            "elo": rating.elo,
            "wins": rating.wins,
            "comparisons": rating.comparisons,
            "win_rate": rating.win_rate,
        }
        for rating in ratings
    ]


def dpo_pairs(*, owner: User) -> list[dict[str, str]]:
    """The person's own preferences as plain pairs of one turn, by the rules of `exports/dpo/`."""
    export = Export(kind="dpo", format="jsonl", selection=Selection(owner_id=owner.pk))
    return [{name: row[name] for name in ("prompt", "chosen", "rejected")} for row in export.each()]


def pairs_suggested(*, k: int, strategy: Strategy, rng: Random) -> list[dict[str, str]]:
    """Pairs of active models to compare next, by what the newest snapshot knows of them."""
    models = list(LanguageModel.objects.active())
    rated = ratings_now([model.pk for model in models])
    ratings = [rated[model.pk].rating if model.pk in rated else None for model in models]
    halves = [rated[model.pk].half_width if model.pk in rated else None for model in models]
    errors = [None if half is None else half / Z95 for half in halves]
    return [
        {"model_a": models[first].slug, "model_b": models[second].slug}
        for first, second in suggest(ratings, errors, k, strategy, rng)
    ]
