"""From a preference to the comparisons that follow from it; they can be made anew from here at any time."""

from collections.abc import Iterator

from django.db import transaction
from django.db.models import Prefetch

from battles.expansion import pairs_of
from battles.models import Battle, Preference, Response, Turn
from battles.style import style_of
from leaderboard.services import NewComparison, comparisons_replace

SOURCE = "battle"
CHUNK_ROWS = 500


def comparisons_of(preference: Preference, battle: Battle) -> list[NewComparison]:
    """All pairs of one preference; needs the battle with its sides, turns and standing responses loaded. What was
    judged are the turns up to the vote, and who had an answer in one of them."""
    texts = judged_texts(battle, preference.turns)
    sides = {side.label: side for side in battle.sides.all()}
    pairs = pairs_of(
        choice=preference.choice,
        winner=preference.winner.label if preference.winner else "",
        ranking=preference.ranking,
        answered=[label for label in sides if label in texts],
    )
    return [
        NewComparison(
            model_a_id=sides[pair.first].model_id,
            model_b_id=sides[pair.second].model_id,
            outcome=pair.outcome,
            source_kind=SOURCE,
            source_id=str(battle.pk),
            voter_id=preference.voter_id,
            mode=battle.mode,
            is_blind=battle.is_blind,
            category=battle.category,
            language=battle.language,
            style=style_of(texts[pair.first], texts[pair.second]),
            exclusion=preference.exclusion,
            created_at=preference.created_at,
        )
        for pair in pairs
    ]


def judged_texts(battle: Battle, turns: int) -> dict[str, str]:
    """What each side wrote in the turns that were judged, by label; a side without an answer is missing."""
    texts: dict[str, list[str]] = {}
    for turn in battle.turns.all():
        if turn.number <= turns:
            for response in turn.responses.all():
                if response.is_answer:
                    texts.setdefault(response.side.label, []).append(response.text)
    return {label: "\n\n".join(parts) for label, parts in texts.items()}


@transaction.atomic
def comparisons_rebuild() -> tuple[int, int, int]:
    """Make all comparisons that come from battles anew; returns how many were added, changed and removed: (0, 0, 0)
    where nothing had changed. Those of people who have left stay, though their battles are gone."""
    return comparisons_replace(source_kind=SOURCE, comparisons=_all(), keeps_forgotten=True)


def _all() -> Iterator[NewComparison]:
    responses = Response.objects.filter(is_current=True).select_related("side").order_by("side__label")
    turns = Turn.objects.order_by("number").prefetch_related(Prefetch("responses", responses))
    battles = Battle.objects.prefetch_related("sides", Prefetch("turns", turns))
    rows = Preference.objects.select_related("winner").prefetch_related(Prefetch("battle", battles)).order_by("pk")
    for preference in rows.iterator(chunk_size=CHUNK_ROWS):
        yield from comparisons_of(preference, preference.battle)
