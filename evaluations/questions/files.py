"""A question set as a file: YAML, or JSON, JSON Lines or CSV with a row a question as FastChat has them; or a file of
FastChat's reference answers. Knows files, not tables."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import IO, Any

from common import yaml_lines
from common.yaml_lines import FileInvalid, Located
from evaluations.errors import QuestionsInvalid
from evaluations.fastchat.rows import ANSWER, Row, problems_of, read_open

YAML_ENDINGS = (".yaml", ".yml")
ABOUT = {"name": 100, "description": 10_000, "licence": 100, "source": 500}
"""What a YAML file may say of the whole set, with how many characters that may have."""
AUTHOR = "author"
AUTHOR_LENGTH = 100


@dataclass
class SetFile:
    """What a file holds. `references` are rows in FastChat's shape; `is_references` where it has nothing else."""

    about: dict[str, str] = field(default_factory=dict)
    questions: list[Row] = field(default_factory=list)
    references: list[Row] = field(default_factory=list)
    is_references: bool = False


def set_read(file: IO[bytes], name: str, *, author: str) -> SetFile:
    """Read a file; its name says whether it is YAML. `author` is who wrote reference answers of which the file does
    not say it. Raises QuestionsInvalid with file and line where it cannot be read; the rows are checked when they are
    stored."""
    found = SetFile()
    if PurePath(name).suffix.lower() in YAML_ENDINGS:
        found.about, rows = _yaml(file, name)
        author = found.about.pop(AUTHOR, author)
    else:
        rows = list(read_open(file, name))
    if rows and all("choices" in row.values and "turns" not in row.values for row in rows):
        found.references, found.is_references = rows, True
        return found
    for row in rows:
        found.questions.append(row)
        if ANSWER in row.values:
            found.references.append(_reference(row, author))
    return found


def _reference(row: Row, author: str) -> Row:
    """The reference answer that stands with its question, as FastChat's files have it."""
    values = {
        "question_id": row.values.get("question_id"),
        "model_id": row.values.get("reference_author", author),
        "choices": [{"turns": row.values[ANSWER]}],
    }
    return Row(row.file, row.lines.get(ANSWER, row.line), values)


def _yaml(file: IO[bytes], name: str) -> tuple[dict[str, str], list[Row]]:
    file.seek(0)
    try:
        text = file.read(4 * yaml_lines.FILE_MAX_CHARACTERS + 1).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise QuestionsInvalid(f"{name} is not text in UTF-8. Nothing was kept.") from error
    try:
        found = yaml_lines.read(text)
    except FileInvalid as error:
        raise problems_of([f"{name}, {problem}" for problem in error.problems]) from error
    if isinstance(found.value, list):
        return {}, list(_rows(found, name))
    if not isinstance(found.value, dict) or not isinstance(_questions(found).value, list):
        raise QuestionsInvalid(f"{name} must be a list of questions, or hold one as `questions`. Nothing was kept.")
    about = Row(name, found.line, {key: one.plain() for key, one in found.value.items() if key != "questions"})
    about.lines = {key: one.line for key, one in found.value.items()}
    lengths = ABOUT | {AUTHOR: AUTHOR_LENGTH}
    if unknown := [key for key in about.values if key not in lengths]:
        raise about.problem(f"{unknown[0]} is not known. Known are {', '.join(lengths)} and questions.", unknown[0])
    said = {key: about.text(key, limit=limit) for key, limit in lengths.items() if key in about.values}
    return said, list(_rows(_questions(found), name))


def _questions(found: Located) -> Located:
    questions: Located = found.value.get("questions", Located(None, found.line))
    return questions


def _rows(found: Located, name: str) -> Iterator[Row]:
    for entry in found.value:
        if not isinstance(entry.value, dict):
            raise problems_of([f"{name}, line {entry.line}: each question must have question_id, category and turns."])
        lines = {key: one.line for key, one in entry.value.items()}
        values: dict[str, Any] = entry.plain()
        yield Row(name, entry.line, values, lines)
