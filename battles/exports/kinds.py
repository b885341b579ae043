"""The kinds of export: which columns each has, and how its rows are made."""

import hmac
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.conf import settings

from battles.exports.errors import ExportInvalid
from battles.exports.judged import Judged, Text, good_and_bad, judged_of, messages, texts_of
from battles.exports.reading import in_portions, whole_battles, with_battles
from battles.exports.seen import Seen, digest
from battles.exports.selection import Selection, comparisons_selected, preferences_selected, reactions_selected
from battles.models import Preference, Reaction

Row = dict[str, Any]
Counts = Counter[str]
# What a column holds: text, messages (a list of role and content), bool, or number.
Columns = dict[str, str]
PROVENANCE: Columns = {
    "category": "text",
    "language": "text",
    "source": "text",
    "mode": "text",
    "reasons": "text",
    "comment": "text",
    "battle": "text",
    "voter": "text",
    "created_at": "text",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind: `columns(shape)` in their order, `rows` made while they are read; skipped ones are counted."""

    slug: str
    task: str
    columns: Callable[[str], Columns]
    rows: Callable[[Selection, Seen, Counts], Iterator[Row]]


def pseudonym(kind: str, key: object) -> str:
    """The same for the same person or battle in every export of this server, and nothing that leads back to them."""
    return hmac.new(settings.SECRET_KEY.encode(), f"export:{kind}:{key}".encode(), sha256).hexdigest()[:16]


def _provenance(preference: Preference) -> Row:
    battle = preference.battle
    return {
        "category": battle.category,
        "language": battle.language,
        "source": "human",
        "mode": battle.mode,
        "reasons": ", ".join(map(str, preference.reasons)),
        "comment": preference.comment,
        "battle": pseudonym("battle", battle.pk),
        "voter": pseudonym("voter", preference.voter_id),
        "created_at": preference.created_at.isoformat(),
    }


def _shaped(prompt: Any, completion: Any, shape: str, skipped: Counts) -> tuple[Any, Any] | None:
    """Prompt and completion as the shape wants them; None where text cannot say it."""
    if shape == "conversational":
        return messages(prompt), messages(completion)
    if len(completion) > 1 or sum(role == "user" for role, _ in prompt) > 1:
        skipped["several turns need shape=conversational"] += 1
        return None
    return "\n\n".join(content for _, content in prompt), completion[0][1]


def _votes(selection: Selection, skipped: Counts) -> Iterator[tuple[Preference, Judged]]:
    for preference in in_portions(with_battles(preferences_selected(selection))):
        judged = judged_of(
            preference,
            trajectories=selection.trajectories,
            winner_only=selection.ranking == "winner",
            skipped=skipped,
        )
        for one in judged:
            if not selection.models or {one.first.model, one.second.model} <= set(selection.models):
                yield preference, one


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
    votes, first = seen.tally(_texts_digest(one))
    better, worse = _better(one)
    share = (first if better.completion < worse.completion else votes - first) / max(votes, 1)
    return votes >= selection.minimum_votes and share > 0.5 and share >= selection.majority


def _winners(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[tuple[Preference, Text, Text]]:
    if selection.asks_agreement:
        _tally(selection, seen)
    for preference, one in _votes(selection, skipped):
        if one.outcome not in ("a", "b"):
            skipped["tie" if one.outcome == "tie" else "both bad"] += 1
            continue
        better, worse = _better(one)
        if selection.asks_agreement and not _agreed(selection, seen, one):
            skipped["too little agreement"] += 1
        elif not seen.is_new(digest(better.prompt, better.completion, worse.completion)):
            skipped["duplicate"] += 1
        else:
            yield preference, better, worse


def _pair_columns(shape: str, *, prompt: bool) -> Columns:
    text = "messages" if shape == "conversational" else "text"
    names = ["prompt", "chosen", "rejected"] if prompt else ["chosen", "rejected"]
    return dict.fromkeys(names, text) | {"chosen_model": "text", "rejected_model": "text"} | PROVENANCE


def _dpo(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    for preference, better, worse in _winners(selection, seen, skipped):
        chosen = _shaped(better.prompt, better.completion, selection.shape, skipped)
        rejected = chosen and _shaped(worse.prompt, worse.completion, selection.shape, skipped)
        if chosen and rejected:
            row = {"prompt": chosen[0], "chosen": chosen[1], "rejected": rejected[1]}
            yield row | {"chosen_model": better.model, "rejected_model": worse.model} | _provenance(preference)


def _reward(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    for row in _dpo(selection, seen, skipped):
        prompt = row.pop("prompt")
        between = "\n\n" if isinstance(prompt, str) else []
        yield row | {name: prompt + between + row[name] for name in ("chosen", "rejected")}


def _kto_columns(shape: str) -> Columns:
    text = "messages" if shape == "conversational" else "text"
    return {"prompt": text, "completion": text, "label": "bool", "model": "text", "from": "text"} | PROVENANCE


def _kto(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    for preference in in_portions(with_battles(preferences_selected(selection))):
        if preference.turns > 1 and not selection.trajectories:
            skipped["vote on several turns"] += 1
            continue
        texts = texts_of(preference.battle, preference.turns, trajectories=selection.trajectories, skipped=skipped)
        if preference.choice == Preference.Choice.TIE:
            labels = dict.fromkeys(texts, True) if selection.ties else {}
        elif preference.choice == Preference.Choice.BOTH_BAD:
            labels = dict.fromkeys(texts, False) if selection.both_bad else {}
        else:
            labels = good_and_bad(preference, texts)
        if not labels:
            skipped["no verdict on one text"] += 1
        for label, is_good in labels.items():
            text = texts[label]
            if not selection.models or text.model in selection.models:
                yield from _kto_row(text, is_good, "vote", _provenance(preference), selection, seen, skipped)
    yield from _liked(selection, seen, skipped)


def _liked(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    rows = reactions_selected(selection).select_related("response__side", "response__turn")
    for reaction in in_portions(rows):
        # One battle each: likes are few beside votes.
        battle = whole_battles().get(pk=reaction.response.turn.battle_id)
        number, label = reaction.response.turn.number, reaction.response.side.label
        text = texts_of(battle, number, trajectories=False, skipped=skipped).get(label)
        if text is None:
            continue
        provenance = _provenance(
            Preference(battle=battle, voter_id=reaction.user_id, created_at=reaction.created_at, reasons=[])
        )
        is_good = reaction.value == Reaction.Value.LIKE
        yield from _kto_row(text, is_good, "reaction", provenance, selection, seen, skipped)


def _kto_row(
    text: Text, is_good: bool, origin: str, provenance: Row, selection: Selection, seen: Seen, skipped: Counts
) -> Iterator[Row]:
    shaped = _shaped(text.prompt, text.completion, selection.shape, skipped)
    if shaped is None:
        return
    if seen.is_new(digest(text.prompt, text.completion, is_good)):
        row = {"prompt": shaped[0], "completion": shaped[1], "label": is_good}
        yield row | {"model": text.model, "from": origin} | provenance
    else:
        skipped["duplicate"] += 1


# How Chatbot Arena's files call an outcome.
WINNERS = {"a": "model_a", "b": "model_b", "tie": "tie", "both_bad": "tie (bothbad)"}


def _battle_columns(shape: str) -> Columns:
    text = dict.fromkeys(["question_id", "model_a", "model_b", "winner", "judge"], "text")
    talk = dict.fromkeys(["conversation_a", "conversation_b"], "messages")
    more = {"turn": "number", "anony": "bool", "language": "text", "tstamp": "number", "category": "text"}
    return text | talk | more


def _battles(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    """Every vote whose two texts are whole, ties and both bad included; texts are those that were judged."""
    for preference in in_portions(with_battles(preferences_selected(selection))):
        battle = preference.battle
        # Whole trajectories: here nothing is trained, and both conversations are told in full.
        for one in judged_of(preference, trajectories=True, winner_only=False, skipped=skipped):
            if selection.models and not {one.first.model, one.second.model} <= set(selection.models):
                continue
            yield {
                "question_id": pseudonym("battle", battle.pk),
                "model_a": one.first.model,
                "model_b": one.second.model,
                "winner": WINNERS[one.outcome],
                "judge": pseudonym("voter", preference.voter_id),
                "conversation_a": messages(one.first.prompt + one.first.completion),
                "conversation_b": messages(one.second.prompt + one.second.completion),
                "turn": float(preference.turns),
                "anony": battle.is_blind,
                "language": battle.language,
                "tstamp": preference.created_at.timestamp(),
                "category": battle.category,
            }


def _comparison_columns(shape: str) -> Columns:
    names = ["model_a", "model_b", "winner", "source", "ballot", "judge", "board", "mode", "category", "language"]
    return dict.fromkeys(names, "text") | {"anony": "bool", "weight": "number", "tstamp": "number"}


def _comparisons(selection: Selection, seen: Seen, skipped: Counts) -> Iterator[Row]:
    rows = comparisons_selected(selection).select_related("model_a", "model_b")
    for row in in_portions(rows):
        yield {
            "model_a": row.model_a.slug,
            "model_b": row.model_b.slug,
            "winner": WINNERS[row.outcome],
            "source": "human" if row.source_kind == "battle" else row.source_kind,
            "ballot": pseudonym("ballot", f"{row.source_kind}:{row.source_id}"),
            "judge": _judge(row),
            "board": row.board,
            "mode": row.mode,
            "category": row.category,
            "language": row.language,
            "anony": row.is_blind,
            "weight": row.weight,
            "tstamp": row.created_at.timestamp(),
        }


def _judge(row: Any) -> str:
    """A judge model by its name, people only by a pseudonym: imported names may be somebody's."""
    if row.source_kind == "judge":
        return str(row.judge)
    return pseudonym("voter", row.voter_id or json.dumps(row.judge)) if row.voter_id or row.judge else ""


KINDS: dict[str, Kind] = {
    kind.slug: kind
    for kind in (
        Kind("dpo", "preference pairs", lambda shape: _pair_columns(shape, prompt=True), _dpo),
        Kind("kto", "single answers, good or bad", _kto_columns, _kto),
        Kind(
            "reward",
            "preference pairs without a prompt of their own",
            lambda s: _pair_columns(s, prompt=False),
            _reward,
        ),
        Kind("battles", "votes in the shape of Chatbot Arena", _battle_columns, _battles),
        Kind("comparisons", "outcomes between two models", _comparison_columns, _comparisons),
    )
}


def kind_of(slug: str) -> Kind:
    """Raises ExportInvalid."""
    if slug not in KINDS:
        raise ExportInvalid(f"There is no export “{slug}”. Known are: {', '.join(KINDS)}.")
    return KINDS[slug]
