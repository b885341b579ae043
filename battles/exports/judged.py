"""From one vote to what it says of texts: who was better, over which history. Touches no database.

A pair is valid where both sides answered the same history. After the first turn their histories differ, so a vote on
several turns judges two whole trajectories; it gives a pair only where those are asked for.
"""

from collections import Counter
from dataclasses import dataclass

from battles.expansion import pairs_of
from battles.models import Battle, Preference, Response
from providers.adapters.base import FinishReason

Message = dict[str, str]
# Answers that ended for another reason than the model's own end are no examples of how to answer.
WHOLE = ("", FinishReason.STOP.value, FinishReason.UNKNOWN.value)


@dataclass(frozen=True, slots=True)
class Text:
    """What one side wrote after `prompt`; several messages where a whole trajectory was judged."""

    label: str
    model: str
    prompt: tuple[tuple[str, str], ...]
    completion: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """Two texts after one prompt; `outcome` is a where the first is better, b, tie or both_bad."""

    first: Text
    second: Text
    outcome: str


def is_whole(response: Response) -> bool:
    """Whether an answer is complete: neither failed, nor stopped, nor cut at a limit."""
    return (
        response.status == Response.Status.FINISHED and bool(response.text.strip()) and response.finish_reason in WHOLE
    )


def messages(pairs: tuple[tuple[str, str], ...]) -> list[Message]:
    return [{"role": role, "content": content} for role, content in pairs]


def texts_of(battle: Battle, turns: int, *, trajectories: bool, skipped: Counter[str]) -> dict[str, Text]:
    """The judged text of each side that wrote all of it, by label; the others are counted by reason."""
    judged = [turn for turn in battle.turns.all() if turn.number <= turns]
    if not judged:
        return {}
    if any(turn.images.all() for turn in judged):
        skipped["prompt with images"] += 1
        return {}
    found: dict[str, Text] = {}
    for side in battle.sides.all():
        spoken: list[tuple[str, str]] = [("system", battle.system_prompt)] if battle.system_prompt else []
        model = ""
        for turn in judged:
            spoken.append(("user", turn.prompt))
            answer = next((r for r in turn.responses.all() if r.side_id == side.pk and is_whole(r)), None)
            if answer is None:
                skipped["failed or cut answer"] += 1
                break
            model = answer.model.slug
            spoken.append(("assistant", answer.text))
        else:
            cut = len(spoken) - 1 if not trajectories else 1 + bool(battle.system_prompt)
            found[side.label] = Text(side.label, model, tuple(spoken[:cut]), tuple(spoken[cut:]))
    return found


def judged_of(preference: Preference, *, trajectories: bool, winner_only: bool, skipped: Counter[str]) -> list[Judged]:
    """Every pair of texts that a vote judged. `winner_only` leaves of a ranking the pairs with its best."""
    battle = preference.battle
    texts = texts_of(battle, preference.turns, trajectories=trajectories, skipped=skipped)
    pairs = pairs_of(
        choice=preference.choice,
        winner=preference.winner.label if preference.winner else "",
        ranking=preference.ranking,
        answered=list(texts),
    )
    if winner_only and preference.choice == Preference.Choice.RANKING:
        best = next((set(rank) & set(texts) for rank in preference.ranking if set(rank) & set(texts)), set())
        pairs = [pair for pair in pairs if pair.first in best or pair.second in best]
    found = []
    for pair in pairs:
        first, second = texts[pair.first], texts[pair.second]
        if first.prompt != second.prompt:
            skipped["vote on several turns"] += 1
        elif first.completion == second.completion:
            skipped["equal answers"] += 1
        else:
            found.append(Judged(first, second, pair.outcome))
    return found


def good_and_bad(preference: Preference, texts: dict[str, Text]) -> dict[str, bool]:
    """By label whether a vote calls a text good: the best and the worst of it; what is between says nothing."""
    pairs = pairs_of(
        choice=preference.choice,
        winner=preference.winner.label if preference.winner else "",
        ranking=preference.ranking,
        answered=list(texts),
    )
    won = {pair.first if pair.outcome == "a" else pair.second for pair in pairs if pair.outcome in "ab"}
    lost = {pair.second if pair.outcome == "a" else pair.first for pair in pairs if pair.outcome in "ab"}
    return {label: label in won for label in sorted(won ^ lost)}
