"""Single answers that somebody called good or bad: rows for KTO."""

from collections.abc import Iterator

from battles.exports.judged import Text, good_and_bad, texts_of
from battles.exports.pairs import vote_provenance
from battles.exports.reading import Vote, likes, votes
from battles.exports.rows import Columns, Counts, Row, provenance, provenance_columns, shaped, text_type
from battles.exports.seen import Seen, digest
from battles.exports.selection import Selection

# A text, whether it is good, and what said so.
Verdict = tuple[Text, bool, str]


def kto_columns(selection: Selection) -> Columns:
    text = text_type(selection)
    told = {"prompt": text, "completion": text, "label": "bool", "model": "text", "from": "text"}
    return told | provenance_columns(selection)


def kto_rows(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    """A row for each text that a vote or a like calls good or bad, each once."""
    for (text, is_good, origin), where in _verdicts(selection, skipped):
        if selection.models and text.model not in selection.models:
            continue
        told = shaped(text.prompt, text.completion, selection.shape, skipped)
        if told is None:
            continue
        if not seen.is_new(digest(text.prompt, text.completion, is_good)):
            skipped["duplicate"] += 1
            continue
        row = {"prompt": told[0], "completion": told[1], "label": is_good, "model": text.model, "from": origin}
        yield row | where


def _verdicts(selection: Selection, skipped: Counts) -> Iterator[tuple[Verdict, Row]]:
    for vote in votes(selection):
        if vote.turns > 1 and not selection.trajectories:
            skipped["vote on several turns"] += 1
            continue
        texts = texts_of(vote.talk, vote.turns, trajectories=selection.trajectories, skipped=skipped)
        labels = _labels(vote, texts, selection)
        if not labels:
            skipped["no verdict on one text"] += 1
            continue
        where = vote_provenance(vote, selection)
        for label, is_good in labels.items():
            yield (texts[label], is_good, "vote"), where
    for like in likes(selection):
        text = texts_of(like.talk, like.number, trajectories=False, skipped=skipped).get(like.label)
        if text is not None:
            where = provenance(
                like.talk, voter_id=like.user_id, created_at=like.created_at, selection=selection, reasons=[]
            )
            yield (text, like.value == "like", "reaction"), where


def _labels(vote: Vote, texts: dict[str, Text], selection: Selection) -> dict[str, bool]:
    if vote.choice == "tie":
        return dict.fromkeys(texts, True) if selection.ties else {}
    if vote.choice == "both_bad":
        return dict.fromkeys(texts, False) if selection.both_bad else {}
    return good_and_bad(vote, texts)
