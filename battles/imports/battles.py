"""Battles in Chatbot Arena's shape become comparisons of a board. The file is read twice: checked, then stored in one
transaction, so that a bad row anywhere leaves nothing behind."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any

import msgspec
from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction
from django.utils import timezone

from battles.imports.errors import ImportInvalid, at
from battles.imports.reading import rows
from leaderboard.loading import comparisons_load
from leaderboard.models import Board
from leaderboard.services import NewComparison
from providers.external import models_external, models_known

SOURCE = Board.Source.IMPORTS.value
WINNERS = {
    "model_a": "a",
    "model_b": "b",
    "tie": "tie",
    "tie (bothbad)": "both_bad",
    "both_bad": "both_bad",
}
FLAGS = {"true": True, "false": False, "1": True, "0": False, "": True}
SHOWN_ROWS = 5
SLUG_LENGTH = 50
# What Comparison holds, in characters.
LENGTHS = {"model_a": 100, "model_b": 100, "judge": 100, "category": 32, "language": 16}
# What else tells one vote from another.
TELLING = ("turn", "question_id", "conversation_a", "conversation_b")
LATEST_SECONDS = 253402300799.0  # the last moment of the year 9999
Noted = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Vote:
    """One row, checked. `told` is its content, equal for equal rows."""

    model_a: str
    model_b: str
    outcome: str
    judge: str
    is_blind: bool
    category: str
    language: str
    created_at: datetime | None
    told: list[Any]


@dataclass
class Summary:
    """What a file holds, and what storing it did: `new` is None after a dry run."""

    rows: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    models: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    first: list[dict[str, str]] = field(default_factory=list)
    new: int | None = None


def battles_import(
    *, file: IO[bytes], board: str, is_dry_run: bool = False, on_row: Noted = lambda rows: None
) -> Summary:
    """Check a file and, unless it is a dry run, store what is not there yet; a board that is new is made.

    The same file again adds nothing; rows of one file that are equal count each. `on_row` hears of each row that was
    checked. Raises ImportInvalid with the line; then nothing was changed.
    """
    board_check(board)
    summary, names = Summary(), set()
    for vote in _votes(file):
        summary.rows += 1
        summary.outcomes[vote.outcome] += 1
        names |= {vote.model_a, vote.model_b}
        if len(summary.first) < SHOWN_ROWS:
            summary.first.append({"model_a": vote.model_a, "model_b": vote.model_b, "outcome": vote.outcome})
        on_row(summary.rows)
    if not summary.rows:
        raise ImportInvalid("The file has no rows.")
    summary.models = sorted(names)
    known = models_known(names)
    summary.unknown = sorted(names - set(known))
    _check_pairs(file, known)
    if not is_dry_run:
        summary.new = _store(file, board, names)
    return summary


@transaction.atomic
def _store(file: IO[bytes], board: str, names: set[str]) -> int:
    Board.objects.get_or_create(
        slug=board,
        defaults={"name": board, "imported_as": board, "blind_only": False, "sources": [SOURCE]},
    )
    ids, now = models_external(names=names), timezone.now()
    return comparisons_load(comparisons=_comparisons(file, board, ids, now))


def _comparisons(file: IO[bytes], board: str, ids: dict[str, int], now: datetime) -> Iterator[NewComparison]:
    # Which of several equal rows this is: a part of the digest is enough for that, and a million of them fit in memory.
    seen: set[int] = set()
    repeated: Counter[int] = Counter()
    for vote in _votes(file):
        digest = hashlib.sha256(msgspec.json.encode(vote.told)).digest()
        short = int.from_bytes(digest[:8])
        if short in seen:
            repeated[short] += 1
        seen.add(short)
        key = b"%s\0%s\0%d" % (board.encode(), digest, 1 + repeated[short])
        yield NewComparison(
            model_a_id=ids[vote.model_a],
            model_b_id=ids[vote.model_b],
            outcome=vote.outcome,
            source_kind=SOURCE,
            source_id=hashlib.sha256(key).hexdigest(),
            voter_id=None,
            is_blind=vote.is_blind,
            category=vote.category,
            language=vote.language,
            created_at=vote.created_at or now,
            judge=vote.judge,
            board=board,
        )


def board_check(board: str) -> None:
    """Refuse, with ImportInvalid, a slug that is none or that belongs to a board which is not for imports."""
    try:
        validate_slug(board)
    except ValidationError as error:
        raise ImportInvalid("The board needs a slug: letters, digits and hyphens.") from error
    there = Board.objects.filter(slug=board).first()
    if board == "main" or len(board) > SLUG_LENGTH or (there and there.imported_as != board):
        raise ImportInvalid(f"The board “{board[:SLUG_LENGTH]}” is not one for imports. Choose another slug.")


def _check_pairs(file: IO[bytes], known: dict[str, int]) -> None:
    """A name and a slug may mean one model. Reads the file again only where that is so."""
    if len(set(known.values())) == len(known):
        return
    for number, row in rows(file):
        vote = _vote(row, number)
        if known.get(vote.model_a, 0) == known.get(vote.model_b, -1):
            raise at(number, "model_a and model_b are the same model.")


def _votes(file: IO[bytes]) -> Iterator[Vote]:
    return (_vote(row, number) for number, row in rows(file))


def _vote(row: dict[str, Any], line: int) -> Vote:
    text = {name: _text(row, name, line) for name in LENGTHS}
    for name in ("model_a", "model_b"):
        if not text[name]:
            raise at(line, f"{name} is missing.")
    if text["model_a"] == text["model_b"]:
        raise at(line, "model_a and model_b are the same model.")
    winner = row.get("winner")
    if not isinstance(winner, str) or winner not in WINNERS:
        raise at(line, f"winner must be one of {', '.join(WINNERS)}.")
    is_blind, moment = _flag(row.get("anony"), line), _moment(row.get("tstamp"), line)
    told = [*text.values(), WINNERS[winner], is_blind, moment, *(row.get(name) for name in TELLING)]
    return Vote(
        model_a=text["model_a"],
        model_b=text["model_b"],
        outcome=WINNERS[winner],
        judge=text["judge"],
        is_blind=is_blind,
        category=text["category"],
        language=text["language"],
        created_at=moment,
        told=told,
    )


def _text(row: dict[str, Any], name: str, line: int) -> str:
    value = row.get(name)
    if value is None or value == "":
        return ""
    if isinstance(value, int) and not isinstance(value, bool) and name == "judge":
        value = str(value)
    if not isinstance(value, str):
        raise at(line, f"{name} must be text.")
    value = value.strip()
    if "\0" in value or len(value) > LENGTHS[name]:
        raise at(line, f"{name} is longer than {LENGTHS[name]} characters, or has a NUL in it.")
    return value


def _flag(value: Any, line: int) -> bool:
    """Whether the names were hidden; where a file does not say, they were."""
    word = "" if value is None else str(value).strip().lower()
    if word not in FLAGS:
        raise at(line, "anony must be true or false.")
    return FLAGS[word]


def _moment(value: Any, line: int) -> datetime | None:
    if value is None or value == "":
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = -1.0
    if isinstance(value, bool) or not 0 <= seconds <= LATEST_SECONDS:
        raise at(line, "tstamp must be seconds since 1970.")
    return datetime.fromtimestamp(seconds, tz=UTC)
