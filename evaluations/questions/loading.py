"""Question sets from files, so that a second time changes nothing. Called through the services."""

import re
import tempfile
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Max

from common.text import counted
from evaluations.errors import QuestionSetUsed, QuestionsInvalid
from evaluations.fastchat.rows import Row, problems_of, question_columns, read
from evaluations.judge_prompts import judge_prompts_store
from evaluations.models import Answer, Question, QuestionSet, ReferenceAnswer, Run
from evaluations.questions.files import SetFile, set_read

# References of the official set that are reported wrong. Source: FastChat pull request 3158
DOUBTED = frozenset({104, 105, 109, 111, 113, 114, 120, 122, 124, 125, 126, 128, 130})
DOUBT = "Reported wrong in FastChat's pull request 3158."
OFFICIAL_NUMBERS = range(81, 161)
OFFICIAL_FIRST = "Compose an engaging travel blog post about a recent trip to Hawaii"
OWN_SET = "tourney-80"
OWN_FILE = Path(__file__).with_name("questions.yaml")
DOWNLOAD_MAX_BYTES = 64 * 2**20
DOWNLOAD_SECONDS = 60.0
PROBLEMS_NAMED = 20


@dataclass
class QuestionsReport:
    """What an import did. `fresh` are the questions that were added, `other` those that were changed, `doubted` those
    whose references are reported wrong."""

    question_set: QuestionSet
    same: int = 0
    references: int = 0
    fresh: list[Question] = field(default_factory=list)
    other: list[Question] = field(default_factory=list)
    doubted: list[int] = field(default_factory=list)

    @property
    def added(self) -> int:
        return len(self.fresh)

    @property
    def changed(self) -> int:
        return len(self.other)

    def __str__(self) -> str:
        return (
            f"{self.question_set.slug}: {counted(self.added, 'question')} added, {self.changed:,} changed, "
            f"{self.same:,} the same; {counted(self.references, 'reference answer')} added"
        )


@transaction.atomic
def questions_store(*, slug: str, rows: Iterable[Row], about: dict[str, str] | None = None) -> QuestionsReport:
    """Make or change a set. Questions that the rows leave out stay, and so does what `about` (name, description,
    licence, source) leaves out. Raises QuestionsInvalid with what is wrong; then nothing changed."""
    report = QuestionsReport(question_set_about(slug=slug, about=about or {}))
    there = {question.number: question for question in report.question_set.questions.all()}
    for row, columns in _checked(rows):
        known = there.get(columns["number"])
        if known is None:
            report.fresh.append(Question(question_set=report.question_set, **columns))
        elif all(getattr(known, name) == value for name, value in columns.items()):
            report.same += 1
        else:
            if known.turns != columns["turns"] and _is_answered(known):
                raise row.problem(
                    f"turns: question {known.number} was answered already in a run, and has other words there. "
                    "Import it into a set of another name.",
                    "turns",
                )
            for name, value in columns.items():
                setattr(known, name, value)
            known.save()
            report.other.append(known)
    Question.objects.bulk_create(report.fresh)
    return report


def question_set_about(*, slug: str, about: dict[str, str]) -> QuestionSet:
    """Make a set, or write what is said of one that is there; what is empty stays as it was."""
    said = {name: value for name, value in about.items() if value}
    question_set, is_new = QuestionSet.objects.get_or_create(slug=slug, defaults={"name": slug} | said)
    if not is_new and any(getattr(question_set, name) != value for name, value in said.items()):
        for name, value in said.items():
            setattr(question_set, name, value)
        question_set.save(update_fields=list(said))
    return question_set


def question_set_delete(*, question_set: QuestionSet) -> None:
    """Forget a set with its questions and references. Raises QuestionSetUsed where a run asks it."""
    if Run.objects.filter(question_set=question_set).exists():
        raise QuestionSetUsed
    question_set.delete()


def _checked(rows: Iterable[Row]) -> list[tuple[Row, dict[str, Any]]]:
    """Each row with the columns of its question. Raises QuestionsInvalid with the first problems of all rows."""
    found: list[tuple[Row, dict[str, Any]]] = []
    problems: list[str] = []
    seen: set[int] = set()
    reading = iter(rows)
    while len(problems) < PROBLEMS_NAMED:
        try:
            row = next(reading)  # a file that cannot be read on has no more rows after it has said so
            columns = question_columns(row)
            number = columns["number"]
            if number in seen:
                raise row.problem(f"question_id: question {number} stands in the file twice.", "question_id")
        except StopIteration:
            break
        except QuestionsInvalid as error:
            problems += error.fields.get("file", [str(error)])
        else:
            seen.add(number)
            found.append((row, columns))
    if problems:
        raise problems_of(problems)
    if not found:
        raise QuestionsInvalid("This file holds no question.")
    return found


def _is_answered(question: Question) -> bool:
    return Answer.objects.filter(question=question).exists()


@transaction.atomic
def references_store(*, report: QuestionsReport, rows: Iterable[Row], is_official: bool) -> None:
    """Add what is not there yet, each as a new version of its question's reference, and note it in the report."""
    questions = {question.number: question for question in report.question_set.questions.all()}
    for row in rows:
        number = row.number("question_id")
        question = questions.get(number)
        if question is None:
            raise row.problem(f"there is no question {number} in the set.")
        turns = row.choices()[0]
        is_doubted = is_official and number in DOUBTED
        if is_doubted:
            report.doubted.append(number)
        author = row.text("model_id", limit=100)
        if question.references.filter(author=author, turns=turns).exists():
            continue
        latest = question.references.aggregate(latest=Max("version"))["latest"] or 0
        ReferenceAnswer.objects.create(
            question=question, version=latest + 1, author=author, turns=turns, doubt=DOUBT if is_doubted else ""
        )
        report.references += 1


@transaction.atomic
def reference_correct(*, reference: ReferenceAnswer, turns: list[str], author: str, doubt: str) -> ReferenceAnswer:
    """Other words make a new version, and the one that judges went by stays as it was; else only author and doubt
    change. Return the row that holds them."""
    if turns == reference.turns:
        reference.author, reference.doubt = author, doubt
        reference.save(update_fields=["author", "doubt"])
        return reference
    latest = ReferenceAnswer.objects.filter(question=reference.question_id).aggregate(latest=Max("version"))["latest"]
    return ReferenceAnswer.objects.create(
        question_id=reference.question_id, version=latest + 1, author=author, turns=turns, doubt=doubt
    )


@transaction.atomic
def question_set_store(
    *,
    slug: str,
    questions: Sequence[dict[str, Any]],
    reference_answers: Sequence[dict[str, Any]] = (),
    **about: str,
) -> QuestionsReport:
    """A set from rows in FastChat's shape (question_id, category, turns, reference?), with reference answers
    (question_id, author, turns). Raises QuestionsInvalid with the row; then nothing changed."""
    rows = [Row("questions", number, row) for number, row in enumerate(questions, start=1)]
    answers = [
        {"question_id": one["question_id"], "model_id": one["author"], "choices": [{"turns": one["turns"]}]}
        for one in reference_answers
    ]
    references = [Row("reference_answers", number, row) for number, row in enumerate(answers, start=1)]
    return set_store(slug=slug, found=SetFile(about, rows, references))


@transaction.atomic
def set_store(*, slug: str, found: SetFile) -> QuestionsReport:
    """Store what a file holds. Raises QuestionsInvalid with file and line; then nothing changed."""
    if found.is_references:
        question_set = QuestionSet.objects.filter(slug=slug).first()
        if question_set is None:
            raise QuestionsInvalid(
                f"These are reference answers, and there is no set {slug} that they could belong to."
            )
        report = QuestionsReport(question_set_about(slug=slug, about=found.about))
    else:
        report = questions_store(slug=slug, rows=found.questions, about=found.about)
    references_store(report=report, rows=found.references, is_official=_is_official(report.question_set))
    return report


@transaction.atomic
def questions_seed() -> int:
    """Add Tourney's own set where it is not there; return how many questions were added. One that is there stays as an
    operator left it."""
    if QuestionSet.objects.filter(slug=OWN_SET).exists():
        return 0
    with OWN_FILE.open("rb") as file:
        return set_store(slug=OWN_SET, found=set_read(file, OWN_FILE.name, author=OWN_SET)).added


def questions_import(*, source: str, slug: str, about: dict[str, str] | None = None) -> QuestionsReport:
    """A set from a file, or from a folder that holds `question.jsonl` beside `reference_answer/` and
    `judge_prompts.jsonl`; or from the https address of a file. `about` (name, description, licence, source) goes before
    what the file says. Raises QuestionsInvalid; then nothing changed."""
    given = {name: value for name, value in (about or {}).items() if value}
    if re.match(r"https?://", source):
        with tempfile.TemporaryDirectory() as folder:
            return _from_path(_downloaded(source, Path(folder)), slug, {"source": source} | given)
    return _from_path(Path(source), slug, given)


@transaction.atomic
def _from_path(path: Path, slug: str, about: dict[str, str]) -> QuestionsReport:
    folder = path if path.is_dir() else path.parent
    questions = path / "question.jsonl" if path.is_dir() else path
    try:
        with questions.open("rb") as file:
            found = set_read(file, questions.name, author=slug)
    except OSError as error:
        raise QuestionsInvalid(f"{questions}: {error.strerror}.") from error
    found.about |= about
    report = set_store(slug=slug, found=found)
    is_official = _is_official(report.question_set)
    for reference in sorted((folder / "reference_answer").glob("*.jsonl")):
        references_store(report=report, rows=read(reference), is_official=is_official)
    prompts = folder / "judge_prompts.jsonl"
    if path.is_dir() and prompts.is_file():
        judge_prompts_store(family="fastchat", rows=read(prompts))
    return report


def _is_official(question_set: QuestionSet) -> bool:
    """Whether these are the eighty of MT-bench, whatever the set is called."""
    first = question_set.questions.filter(number=OFFICIAL_NUMBERS[0]).first()
    return first is not None and first.turns[0].startswith(OFFICIAL_FIRST)


def _downloaded(address: str, folder: Path) -> Path:
    if urlsplit(address).scheme != "https":
        raise QuestionsInvalid("The address must begin with https://.")
    path = folder / (PurePosixPath(urlsplit(address).path).name or "question.jsonl")
    try:
        with urllib.request.urlopen(address, timeout=DOWNLOAD_SECONDS) as answer:
            data = answer.read(DOWNLOAD_MAX_BYTES + 1)
    except (URLError, OSError) as error:
        raise QuestionsInvalid(f"{address} cannot be read: {error}.") from error
    if len(data) > DOWNLOAD_MAX_BYTES:
        raise QuestionsInvalid(f"{address} has more than {DOWNLOAD_MAX_BYTES // 2**20} MiB.")
    path.write_bytes(data)
    return path
