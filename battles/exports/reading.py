"""Votes and likes with the texts that they are about, in portions, so that neither memory nor a transaction grows with
an export. Each portion is a few queries of plain values by ascending key: no row of the database becomes an object of
its model, and it works alike on every database and in whatever thread asks for the next one."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from battles.ballots import SOURCE
from battles.exports.selection import (
    Selection,
    board_asked,
    comparisons_selected,
    imported_selected,
    preferences_selected,
    reactions_selected,
)
from battles.models import Image, Response, Turn
from leaderboard.boards import comparisons_of
from providers.adapters.base import FinishReason

PORTION = 500
# Messages as pairs of role and content.
Spoken = tuple[tuple[str, str], ...]
# Answers that ended for another reason than the model's own end are no examples of how to answer.
WHOLE = ("", FinishReason.STOP.value, FinishReason.UNKNOWN.value)


class Answer(NamedTuple):
    """What the model of this slug wrote; `is_whole` where it neither failed, nor was stopped, nor cut at a limit."""

    model: str
    text: str
    is_whole: bool
    is_refusal: bool


class Asked(NamedTuple):
    """One turn with its standing answers by label."""

    number: int
    prompt: str
    answers: dict[str, Answer]
    has_images: bool


class Talk(NamedTuple):
    """A battle with its turns in their order."""

    turns: list[Asked]
    battle_id: UUID
    category: str
    language: str
    mode: str
    is_blind: bool
    system_prompt: str


class Vote(NamedTuple):
    """A preference; `winner` is a label."""

    voter_id: int
    choice: str
    winner: str
    ranking: list[list[str]]
    turns: int
    reasons: list[str]
    comment: str
    created_at: datetime
    talk: Talk


class Like(NamedTuple):
    """A like or a dislike of what side `label` wrote in turn `number`."""

    user_id: int
    value: str
    label: str
    number: int
    created_at: datetime
    talk: Talk


class Imported(NamedTuple):
    """A preference from a file; `chosen` or `rejected` is empty where only one answer is known."""

    digest: str
    prompt: Spoken
    chosen: Spoken
    rejected: Spoken
    chosen_model: str
    rejected_model: str
    category: str
    language: str
    created_at: datetime


class Outcome(NamedTuple):
    """A comparison; the models are slugs."""

    model_a: str
    model_b: str
    outcome: str
    source_kind: str
    source_id: str
    voter_id: int | None
    judge: str
    board: str
    mode: str
    category: str
    language: str
    is_blind: bool
    weight: float
    created_at: datetime


TALK = ("category", "language", "mode", "is_blind", "system_prompt")
BATTLE = 1 + len(TALK)  # with its id before them
VOTE = (
    *(f"battle__{name}" for name in TALK), "voter_id", "choice", "winner__label",
    # As text: nearly always empty lists, which are decoded many times faster here.
    Cast("ranking", TextField()), Cast("reasons", TextField()), "turns", "comment", "created_at",
)  # fmt: skip
LIKE = (
    "response__turn__battle_id", *(f"response__turn__battle__{name}" for name in TALK), "user_id", "value",
    "response__side__label", "response__turn__number", "created_at",
)  # fmt: skip
IMPORTED = (
    "digest", *(Cast(name, TextField()) for name in ("prompt", "chosen", "rejected")), *Imported._fields[4:],
)  # fmt: skip
OUTCOME = ("model_a__slug", "model_b__slug", *Outcome._fields[2:])


def votes(selection: Selection) -> Iterator[Vote]:
    """Every vote of the selection with its texts."""
    decode = msgspec.json.decode
    for portion in _vote_portions(selection, VOTE):
        turns = _turns("battle__preferences", [row[0] for row in portion])
        for pk, *row in portion:
            talk = Talk(turns.get(pk, []), *row[:BATTLE])
            voter_id, choice, winner, ranking, reasons, judged, comment, created_at = row[BATTLE:]
            yield Vote(
                voter_id, choice, winner or "", decode(ranking), judged, decode(reasons), comment, created_at, talk
            )


def likes(selection: Selection) -> Iterator[Like]:
    """Every like and dislike of the selection with its text."""
    for portion in _portions(reactions_selected(selection), LIKE):
        turns = _turns("battle__turns__responses__reactions", [row[0] for row in portion])
        for pk, *row in portion:
            user_id, value, label, number, created_at = row[BATTLE:]
            yield Like(user_id, value, label, number, created_at, Talk(turns.get(pk, []), *row[:BATTLE]))


def imported(selection: Selection) -> Iterator[Imported]:
    """Every preference of the selection that came from a file."""
    for portion in _portions(imported_selected(selection), IMPORTED):
        for _, digest, prompt, chosen, rejected, *more in portion:
            yield Imported(digest, _spoken(prompt), _spoken(chosen), _spoken(rejected), *more)


def outcomes(selection: Selection) -> Iterator[Outcome]:
    """Every comparison of the selection."""
    for portion in _portions(comparisons_selected(selection), OUTCOME):
        yield from (Outcome._make(row[1:]) for row in portion)


def votes_counted(selection: Selection, *, kind: str, limit: int) -> int:
    """How many votes, likes or comparisons an export of `kind` is made of, counted up to `limit`; reads no text."""
    if kind == "comparisons":
        return comparisons_selected(selection).order_by()[:limit].count()
    if selection.board:
        found = 0
        for portion in _vote_portions(selection, ()):
            found += len(portion)
            if found >= limit:
                return limit
    else:
        found = preferences_selected(selection).order_by()[:limit].count()
    if kind == "kto":
        found += reactions_selected(selection).order_by()[:limit].count()
    if kind != "battles":
        found += imported_selected(selection).order_by()[:limit].count()
    return min(limit, found)


def _spoken(text: str) -> Spoken:
    return tuple((role, content) for role, content in msgspec.json.decode(text))


def _portions(rows: QuerySet[Any], names: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
    """The key and the values of `names` of all rows by ascending key, PORTION at a time."""
    last = 0
    while portion := list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", *names)[:PORTION]):
        last = portion[-1][0]
        yield portion


def _vote_portions(selection: Selection, names: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
    """Those of the selection; with a board only those that count on it, by the board's own comparisons."""
    board = board_asked(selection)
    for portion in _portions(preferences_selected(selection), ["battle_id", *names]):
        if board is not None:
            ballots = comparisons_of(board).filter(source_kind=SOURCE, source_id__in=[str(row[1]) for row in portion])
            counts = set(ballots.order_by().values_list("source_id", flat=True).distinct())
            portion = [row for row in portion if str(row[1]) in counts]
        yield portion


def _turns(path: str, keys: Collection[int]) -> dict[int, list[Asked]]:
    """The turns of battles in three queries, by the keys of rows to which `path` leads from a turn."""
    found: dict[int, list[Asked]] = {}
    turns: dict[int, Asked] = {}
    rows = Turn.objects.filter(**{f"{path}__in": keys}).order_by("number")
    shown = set(Image.objects.filter(**{f"turn__{path}__in": keys}).order_by().values_list("turn_id", flat=True))
    for key, pk, number, prompt in rows.values_list(path, "pk", "number", "prompt"):
        turn = turns.setdefault(pk, Asked(number, prompt, {}, pk in shown))
        found.setdefault(key, []).append(turn)
    answers = Response.objects.filter(turn__in=turns, is_current=True).order_by("side__label")
    for turn_id, label, model, text, status, reason, declines in answers.values_list(
        "turn_id", "side__label", "model__slug", "text", "status", "finish_reason", "is_refusal"
    ):
        is_whole = status == Response.Status.FINISHED and reason in WHOLE and bool(text.strip())
        turns[turn_id].answers[label] = Answer(model, text, is_whole, declines)
    return found
