"""From one vote to what it says of texts: who was better, over which history. Touches no database.

A pair is valid where both sides answered the same history. After the first turn their histories differ, so a vote on
several turns judges two whole trajectories; it gives a pair only where those are asked for.
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from battles.expansion import Pair, pairs_of
from battles.exports.reading import Spoken, Talk, Vote

Message = dict[str, str]


class Text(NamedTuple):
    """What one side wrote after `prompt`, as pairs of role and content; several messages where a whole trajectory was
    judged. `is_refusal` where it declines in one of the turns."""

    label: str
    model: str
    prompt: Spoken
    completion: Spoken
    is_refusal: bool = False


class Judged(NamedTuple):
    """Two texts after one prompt; `outcome` is a where the first is better, b, tie or both_bad."""

    first: Text
    second: Text
    outcome: str


def messages(spoken: Spoken) -> list[Message]:
    return [{"role": role, "content": content} for role, content in spoken]


def texts_of(talk: Talk, turns: int, *, trajectories: bool, skipped: Counter[str]) -> dict[str, Text]:
    """The judged text of each side that wrote all of it, by label; the others are counted by reason."""
    judged = [turn for turn in talk.turns if turn.number <= turns]
    if not judged:
        return {}
    if any(turn.has_images for turn in judged):
        skipped["prompt with images"] += 1
        return {}
    before = (("system", talk.system_prompt),) if talk.system_prompt else ()
    found: dict[str, Text] = {}
    for label in judged[0].answers:
        spoken, model, declines = [*before], "", False
        for turn in judged:
            answer = turn.answers.get(label)
            if answer is None or not answer.is_whole:
                skipped["failed or cut answer"] += 1
                break
            model, declines = answer.model, declines or answer.is_refusal
            spoken += (("user", turn.prompt), ("assistant", answer.text))
        else:
            cut = len(before) + 1 if trajectories else len(spoken) - 1
            found[label] = Text(label, model, tuple(spoken[:cut]), tuple(spoken[cut:]), declines)
    return found


def judged_of(vote: Vote, *, trajectories: bool, winner_only: bool, skipped: Counter[str]) -> list[Judged]:
    """Every pair of texts that a vote judged. `winner_only` leaves of a ranking the pairs with its best."""
    texts = texts_of(vote.talk, vote.turns, trajectories=trajectories, skipped=skipped)
    pairs = _pairs(vote, texts)
    if winner_only and vote.choice == "ranking":
        best = next((set(rank) & set(texts) for rank in vote.ranking if set(rank) & set(texts)), set())
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


def good_and_bad(vote: Vote, texts: Collection[str]) -> dict[str, bool]:
    """By label whether a vote calls a text good: the best and the worst of it; what is between says nothing."""
    pairs = _pairs(vote, texts)
    won = {pair.first if pair.outcome == "a" else pair.second for pair in pairs if pair.outcome in "ab"}
    lost = {pair.second if pair.outcome == "a" else pair.first for pair in pairs if pair.outcome in "ab"}
    return {label: label in won for label in sorted(won ^ lost)}


def _pairs(vote: Vote, texts: Collection[str]) -> list[Pair]:
    return pairs_of(choice=vote.choice, winner=vote.winner, ranking=vote.ranking, answered=list(texts))
