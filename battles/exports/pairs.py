"""Pairs of a better and a worse answer: rows for DPO and for reward models."""

from collections import Counter
from collections.abc import Iterator

from battles.exports.judged import Judged, Text, judged_of
from battles.exports.reading import Vote, votes
from battles.exports.rows import Columns, Counts, Row, provenance, provenance_columns, shaped, text_type
from battles.exports.seen import Seen, digest
from battles.exports.selection import Selection


def dpo_columns(selection: Selection) -> Columns:
    return {"prompt": text_type(selection)} | reward_columns(selection)


def reward_columns(selection: Selection) -> Columns:
    text = text_type(selection)
    told = {"chosen": text, "rejected": text, "chosen_model": "text", "rejected_model": "text"}
    return told | provenance_columns(selection)


def dpo_rows(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    """A row for each pair of a vote with a winner, each pair once."""
    for vote, better, worse in _winners(selection, seen, skipped):
        chosen = shaped(better.prompt, better.completion, selection.shape, skipped)
        rejected = chosen and shaped(worse.prompt, worse.completion, selection.shape, skipped)
        if chosen and rejected:
            row = {"prompt": chosen[0], "chosen": chosen[1], "rejected": rejected[1]}
            row |= {"chosen_model": better.model, "rejected_model": worse.model}
            yield row | vote_provenance(vote, selection)


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


def _votes(selection: Selection, skipped: Counts) -> Iterator[tuple[Vote, Judged]]:
    wanted, winner_only = set(selection.models), selection.ranking == "winner"
    for vote in votes(selection):
        judged = judged_of(vote, trajectories=selection.trajectories, winner_only=winner_only, skipped=skipped)
        for one in judged:
            if not wanted or {one.first.model, one.second.model} <= wanted:
                yield vote, one


def _winners(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[tuple[Vote, Text, Text]]:
    if selection.asks_agreement:
        _tally(selection, seen)
    for vote, one in _votes(selection, skipped):
        if one.outcome not in ("a", "b"):
            skipped["tie" if one.outcome == "tie" else "both bad"] += 1
            continue
        better, worse = _better(one)
        if selection.asks_agreement and not _agreed(selection, seen, one):
            skipped["too little agreement"] += 1
        elif not seen.is_new(digest(better.prompt, better.completion, worse.completion)):
            skipped["duplicate"] += 1
        else:
            yield vote, better, worse


def _better(one: Judged) -> tuple[Text, Text]:
    return (one.first, one.second) if one.outcome == "a" else (one.second, one.first)


def _texts_digest(one: Judged) -> int:
    return digest(one.first.prompt, sorted([one.first.completion, one.second.completion]))


def _tally(selection: Selection, seen: Seen) -> None:
    """Count the votes on each two texts before the first row is written."""
    for _, one in _votes(selection, Counter()):
        better, worse = _better(one)
        if one.outcome in ("a", "b"):
            seen.count(_texts_digest(one), is_first=better.completion < worse.completion)


def _agreed(selection: Selection, seen: Seen, one: Judged) -> bool:
    votes_given, first = seen.tally(_texts_digest(one))
    better, worse = _better(one)
    share = (first if better.completion < worse.completion else votes_given - first) / max(votes_given, 1)
    return votes_given >= selection.minimum_votes and share > 0.5 and share >= selection.majority
