"""Outcomes for statistics: votes in the shape of Chatbot Arena, and comparisons without texts."""

import json
from collections.abc import Iterator

from battles.exports.judged import judged_of, messages
from battles.exports.reading import Outcome, outcomes, votes
from battles.exports.rows import Columns, Counts, Row, pseudonym
from battles.exports.seen import Seen
from battles.exports.selection import SOURCE_OF_KIND, Selection

# How Chatbot Arena's files call an outcome.
WINNERS = {"a": "model_a", "b": "model_b", "tie": "tie", "both_bad": "tie (bothbad)"}


def battle_columns(selection: Selection) -> Columns:
    text = dict.fromkeys(["question_id", "model_a", "model_b", "winner", "judge"], "text")
    talk = dict.fromkeys(["conversation_a", "conversation_b"], "messages")
    more = {"turn": "number", "anony": "bool", "language": "text", "tstamp": "number", "category": "text"}
    return text | talk | more | dict.fromkeys(["refusal_a", "refusal_b"], "bool")


def battle_rows(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    """Every vote whose two texts are whole, ties and both bad included; texts are those that were judged."""
    wanted = set(selection.models)
    for vote in votes(selection):
        # Whole trajectories: here nothing is trained, and both conversations are told in full.
        for one in judged_of(vote, trajectories=True, winner_only=False, skipped=skipped):
            if wanted and not {one.first.model, one.second.model} <= wanted:
                continue
            yield {
                "question_id": pseudonym("battle", vote.talk.battle_id),
                "model_a": one.first.model,
                "model_b": one.second.model,
                "winner": WINNERS[one.outcome],
                "judge": pseudonym("voter", vote.voter_id),
                "conversation_a": messages(one.first.prompt + one.first.completion),
                "conversation_b": messages(one.second.prompt + one.second.completion),
                "turn": float(vote.turns),
                "anony": vote.talk.is_blind,
                "language": vote.talk.language,
                "tstamp": vote.created_at.timestamp(),
                "category": vote.talk.category,
                "refusal_a": one.first.is_refusal,
                "refusal_b": one.second.is_refusal,
            }


def comparison_columns(selection: Selection) -> Columns:
    names = ["model_a", "model_b", "winner", "source", "ballot", "judge", "board", "mode", "category", "language"]
    return dict.fromkeys(names, "text") | {"anony": "bool", "weight": "number", "tstamp": "number"}


def comparison_rows(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    """Every comparison that counts."""
    for one in outcomes(selection):
        yield {
            "model_a": one.model_a,
            "model_b": one.model_b,
            "winner": WINNERS[one.outcome],
            "source": SOURCE_OF_KIND.get(one.source_kind, one.source_kind),
            "ballot": pseudonym("ballot", f"{one.source_kind}:{one.source_id}"),
            "judge": _judge(one),
            "board": one.board,
            "mode": one.mode,
            "category": one.category,
            "language": one.language,
            "anony": one.is_blind,
            "weight": one.weight,
            "tstamp": one.created_at.timestamp(),
        }


def _judge(one: Outcome) -> str:
    """A judge model by its name, people only by a pseudonym: imported names may be somebody's."""
    if one.source_kind == "judge":
        return one.judge
    return pseudonym("voter", one.voter_id or json.dumps(one.judge)) if one.voter_id or one.judge else ""
