"""Rows of FastChat's files, checked one by one. Knows files, not tables."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from battles.imports.errors import ImportInvalid
from battles.imports.reading import rows
from evaluations.errors import QuestionsInvalid
from evaluations.scorers import ScorerInvalid, scorers_read

CATEGORY_LENGTH = 32
NUMBER_MAX = 2_147_483_647
TURNS_MAX = 50
ANSWER = "reference_answer"


class Row:
    """One object of a file; its getters raise QuestionsInvalid with file and line. `lines` says where its fields stand,
    in files where that is elsewhere."""

    def __init__(self, file: str, line: int, values: dict[str, Any], lines: Mapping[str, int] | None = None) -> None:
        self.file, self.line, self.lines = file, line, lines or {}
        self.values = values

    def problem(self, what: str, field: str = "") -> QuestionsInvalid:
        return problems_of([f"{self.file}, line {self.lines.get(field, self.line)}: {what}"])

    def text(self, name: str, *, limit: int | None = None, default: str | None = None) -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise self.problem(f"{name} must be a text.", name)
        if limit is not None and not 0 < len(value) <= limit:
            raise self.problem(f"{name} must have 1 to {limit} characters.", name)
        return clean(value)

    def number(self, name: str, *, default: int | None = None, low: int = 0, high: int = NUMBER_MAX) -> int:
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.problem(f"{name} must be a whole number from {low} to {high}.", name)
        return value

    def figure(self, name: str) -> float | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.problem(f"{name} must be a number.", name)
        return float(value)

    def texts(self, name: str, values: Any) -> list[str]:
        if not isinstance(values, list) or not 1 <= len(values) <= TURNS_MAX:
            raise self.problem(f"{name} must be a list of 1 to {TURNS_MAX} texts.", name)
        if not all(isinstance(value, str) for value in values):
            raise self.problem(f"each of {name} must be a text.", name)
        return [clean(value) for value in values]

    def choices(self) -> list[list[str]]:
        """The turns of each choice of an answer."""
        found = self.values.get("choices")
        if not isinstance(found, list) or not found or not all(isinstance(choice, dict) for choice in found):
            raise self.problem("choices must be a list of objects, each with turns.")
        return [self.texts("turns", choice.get("turns")) for choice in found]

    def judge(self) -> tuple[str, str]:
        """The judge's model and the name of its prompt."""
        found = self.values.get("judge")
        if not isinstance(found, list) or len(found) != 2 or not all(isinstance(part, str) and part for part in found):
            raise self.problem('judge must name the model and the prompt, for example ["gpt-4", "single-v1"].')
        if max(map(len, found)) > 100:
            raise self.problem("the names of judge and prompt may have 100 characters each.")
        return found[0], found[1]


def problems_of(problems: list[str]) -> QuestionsInvalid:
    """What is wrong with a file, each with its line."""
    end = " " if len(problems) == 1 else "\n"
    return QuestionsInvalid("\n".join(problems) + end + "Nothing was kept.", fields={"file": problems})


def clean(text: str) -> str:
    """Without NUL, which PostgreSQL cannot hold."""
    return text.replace("\0", "\ufffd")


def read(path: Path) -> Iterator[Row]:
    """Yield the rows of one file. Raises QuestionsInvalid where it is not JSON Lines, or cannot be opened."""
    try:
        with path.open("rb") as file:
            yield from read_open(file, path.name)
    except OSError as error:
        raise QuestionsInvalid(f"{path}: {error.strerror}.") from error


def read_open(file: IO[bytes], name: str) -> Iterator[Row]:
    try:
        for line, values in rows(file):
            yield Row(name, line, values)
    except ImportInvalid as error:
        raise QuestionsInvalid(f"{name}, {error}", fields={"file": [f"{name}, {error}"]}) from error


def question_columns(row: Row) -> dict[str, Any]:
    """The columns of a question: number, category, turns, hints (what the file calls its reference), scorers. A
    reference answer beside them is only checked."""
    turns = row.texts("turns", row.values.get("turns"))
    if empty := [number for number, turn in enumerate(turns, start=1) if not turn.strip()]:
        raise row.problem(f"turns: turn {empty[0]} is empty.", "turns")
    hints = row.values.get("reference") or []
    scorers = row.values.get("scorers") or []
    try:
        scorers_read(scorers, turns=len(turns))
    except ScorerInvalid as error:
        raise row.problem(f"scorers: {error}", "scorers") from error
    if ANSWER in row.values:
        row.texts(ANSWER, row.values[ANSWER])
    return {
        "number": row.number("question_id"),
        "category": row.text("category", limit=CATEGORY_LENGTH).strip().lower(),
        "turns": turns,
        "hints": row.texts("reference", hints) if hints else [],
        "scorers": _without_nul(row, scorers),
    }


def _without_nul(row: Row, value: Any) -> Any:
    if "\\u0000" in json.dumps(value):
        raise row.problem("scorers: there is a NUL in a text.", "scorers")
    return value
