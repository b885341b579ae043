"""Pairs of a better and a worse answer: rows for DPO and for reward models."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from battles.exports.judged import Judged, Text, judged_of
from battles.exports.reading import Vote, imported, votes
from battles.exports.rows import (
    Columns,
    Counts,
    Row,
    import_provenance,
    provenance,
    provenance_columns,
    shaped,
    text_type,
)
from battles.exports.seen import Seen, digest
from battles.exports.selection import Selection


def dpo_columns(selection: Selection) -> Columns:
    return {"prompt": text_type(selection)} | reward_columns(selection)


def reward_columns(selection: Selection) -> Columns:
    text = text_type(selection)
    told = {"chosen": text, "rejected": text, "chosen_model": "text", "rejected_model": "text"}
    return told | provenance_columns(selection)


def dpo_rows(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    """A row for each pair of a vote with a winner, each pair once; then those that were imported."""
    wanted = set(selection.models)
    for better, worse, where in chain(_winners(selection, seen, skipped), _imported(selection)):
        if wanted and not {better.model, worse.model} <= wanted:
            continue
        chosen = shaped(better.prompt, better.completion, selection.shape, skipped)
        rejected = chosen and shaped(worse.prompt, worse.completion, selection.shape, skipped)
        if chosen is None or rejected is None:
            continue
        if not seen.is_new(digest(better.prompt, better.completion, worse.completion)):
            skipped["duplicate"] += 1
            continue
        row = {"prompt": chosen[0], "chosen": chosen[1], "rejected": rejected[1]}
        yield row | {"chosen_model": better.model, "rejected_model": worse.model} | where


def reward_rows(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    """The same with the prompt inside both texts."""
    for row in dpo_rows(selection, seen, skipped):
        prompt = row.pop("prompt")
        between = "\n\n" if isinstance(prompt, str) else []
        yield row | {name: prompt + between + row[name] for name in ("chosen", "rejected")}


def vote_provenance(vote: Vote, selection: Selection) -> Row:
    return provenance(
        vote.talk,
        voter_id=vote.voter_id,
        created_at=vote.created_at,
        selection=selection,
        reasons=vote.reasons,
        comment=vote.comment,
    )


def _judged(selection: Selection, skipped: Counts) -> Iterator[tuple[Vote, Judged]]:
    winner_only = selection.ranking == "winner"
    for vote in votes(selection):
        for one in judged_of(vote, trajectories=selection.trajectories, winner_only=winner_only, skipped=skipped):
            yield vote, one


def _winners(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[tuple[Text, Text, Row]]:
    """The better and the worse text of votes, and where they come from."""
    if selection.asks_agreement:
        _tally(selection, seen)
    for vote, one in _judged(selection, skipped):
        if one.outcome not in ("a", "b"):
            skipped["tie" if one.outcome == "tie" else "both bad"] += 1
        elif selection.asks_agreement and not _agreed(selection, seen, one):
            skipped["too little agreement"] += 1
        else:
            yield *_better(one), vote_provenance(vote, selection)


def _imported(selection: Selection) -> Iterator[tuple[Text, Text, Row]]:
    for one in imported(selection):
        if one.chosen and one.rejected:
            better = Text("", one.chosen_model, one.prompt, one.chosen)
            yield better, Text("", one.rejected_model, one.prompt, one.rejected), import_provenance(one, selection)


def _better(one: Judged) -> tuple[Text, Text]:
    return (one.first, one.second) if one.outcome == "a" else (one.second, one.first)


def _texts_digest(one: Judged) -> int:
    return digest(one.first.prompt, sorted([one.first.completion, one.second.completion]))


def _tally(selection: Selection, seen: Seen) -> None:
    """Count the votes on each two texts before the first row is written."""
    for _, one in _judged(selection, Counter()):
        better, worse = _better(one)
        if one.outcome in ("a", "b"):
            seen.count(_texts_digest(one), is_first=better.completion < worse.completion)


def _agreed(selection: Selection, seen: Seen, one: Judged) -> bool:
    votes_given, first = seen.tally(_texts_digest(one))
    better, worse = _better(one)
    share = (first if better.completion < worse.completion else votes_given - first) / max(votes_given, 1)
    return votes_given >= selection.minimum_votes and share > 0.5 and share >= selection.majority
