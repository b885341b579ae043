"""Question sets and judge prompts from files, so that a second time changes nothing. Called through the services."""

import re
import tempfile
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit

import yaml
from django.db import transaction
from django.db.models import Max

from evaluations import files
from evaluations.errors import QuestionsInvalid
from evaluations.judges import template_problem
from evaluations.models import Answer, JudgePrompt, Question, QuestionSet, ReferenceAnswer
from evaluations.verdicts import READERS

# References of the official set that are reported wrong. Source: FastChat pull request 3158
DOUBTED = frozenset({104, 105, 109, 111, 113, 114, 120, 122, 124, 125, 126, 128, 130})
DOUBT = "Reported wrong in FastChat's pull request 3158."
OFFICIAL_NUMBERS = range(81, 161)
OFFICIAL_FIRST = "Compose an engaging travel blog post about a recent trip to Hawaii"
OWN_SET = "tourney-80"
OWN_FILE = Path(__file__).with_name("questions.yaml")
OWN_WORDS = "Eighty questions of two turns, ten in each of eight categories, with checked references."
DOWNLOAD_MAX_BYTES = 64 * 2**20
DOWNLOAD_SECONDS = 60.0


@dataclass
class QuestionsReport:
    """What an import did. `doubted` are the questions whose references are reported wrong."""

    question_set: QuestionSet
    added: int = 0
    changed: int = 0
    same: int = 0
    references: int = 0
    doubted: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.question_set.slug}: {self.added} questions added, {self.changed} changed, {self.same} the same; "
            f"{self.references} reference answers added"
        )


@transaction.atomic
def questions_store(*, slug: str, name: str, rows: Iterable[files.Row], description: str = "") -> QuestionsReport:
    """Make or change a set. Questions that the rows leave out stay. Raises QuestionsInvalid; then nothing changed."""
    question_set, _ = QuestionSet.objects.get_or_create(slug=slug, defaults={"name": name, "description": description})
    report = QuestionsReport(question_set)
    there = {question.number: question for question in question_set.questions.all()}
    seen: set[int] = set()
    for row in rows:
        columns = files.question(row)
        number = columns["number"]
        if number in seen:
            raise row.problem(f"question {number} stands in the file twice.")
        seen.add(number)
        known = there.get(number)
        if known is None:
            Question.objects.create(question_set=question_set, **columns)
            report.added += 1
        elif all(getattr(known, name) == value for name, value in columns.items()):
            report.same += 1
        else:
            if known.turns != columns["turns"] and _is_answered(known):
                raise row.problem(
                    f"question {number} was answered already in a run, and has other words there. "
                    "Import it into a set of another name."
                )
            for name, value in columns.items():
                setattr(known, name, value)
            known.save()
            report.changed += 1
    if not seen:
        raise QuestionsInvalid("This file holds no question.")
    return report


def _is_answered(question: Question) -> bool:
    return Answer.objects.filter(question=question).exists()


@transaction.atomic
def references_store(*, report: QuestionsReport, rows: Iterable[files.Row], is_official: bool) -> None:
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
    name: str = "",
    description: str = "",
    reference_answers: Sequence[dict[str, Any]] = (),
) -> QuestionsReport:
    """A set from rows in FastChat's shape (question_id, category, turns, reference?), with reference answers
    (question_id, author, turns). Raises QuestionsInvalid with the row; then nothing changed."""
    rows = [files.Row("questions", number, row) for number, row in enumerate(questions, start=1)]
    report = questions_store(slug=slug, name=name or slug, rows=rows, description=description)
    answers = [
        {"question_id": one["question_id"], "model_id": one["author"], "choices": [{"turns": one["turns"]}]}
        for one in reference_answers
    ]
    references = [files.Row("reference_answers", number, row) for number, row in enumerate(answers, start=1)]
    references_store(report=report, rows=references, is_official=_is_official(report.question_set))
    return report


@transaction.atomic
def questions_seed() -> int:
    """Add Tourney's own set where it is not there; return how many questions were added. One that is there stays as an
    operator left it."""
    if QuestionSet.objects.filter(slug=OWN_SET).exists():
        return 0
    entries = yaml.safe_load(OWN_FILE.read_text(encoding="utf-8"))
    asked = [files.Row(OWN_FILE.name, entry["number"], entry | {"question_id": entry["number"]}) for entry in entries]
    for row in asked:
        row.values = {name: value for name, value in row.values.items() if name != "reference"}
    report = questions_store(slug=OWN_SET, name="Tourney's eighty", rows=asked, description=OWN_WORDS)
    references = [
        {"question_id": entry["number"], "model_id": "tourney", "choices": [{"turns": entry["reference"]}]}
        for entry in entries
        if "reference" in entry
    ]
    rows = [files.Row(OWN_FILE.name, row["question_id"], row) for row in references]
    references_store(report=report, rows=rows, is_official=False)
    return report.added


def questions_import(*, source: str, slug: str, name: str = "") -> QuestionsReport:
    """A set from a `question.jsonl`, or from a folder that holds one beside `reference_answer/` and
    `judge_prompts.jsonl`; or from the https address of such a file. Raises QuestionsInvalid; then nothing changed."""
    if re.match(r"https?://", source):
        with tempfile.TemporaryDirectory() as folder:
            return _from_path(_downloaded(source, Path(folder)), slug, name or slug)
    return _from_path(Path(source), slug, name or slug)


@transaction.atomic
def _from_path(path: Path, slug: str, name: str) -> QuestionsReport:
    folder = path if path.is_dir() else path.parent
    file = path / "question.jsonl" if path.is_dir() else path
    report = questions_store(slug=slug, name=name, rows=files.read(file))
    is_official = _is_official(report.question_set)
    for reference in sorted((folder / "reference_answer").glob("*.jsonl")):
        references_store(report=report, rows=files.read(reference), is_official=is_official)
    prompts = folder / "judge_prompts.jsonl"
    if path.is_dir() and prompts.is_file():
        judge_prompts_store(family="fastchat", rows=files.read(prompts))
    return report


def _is_official(question_set: QuestionSet) -> bool:
    """Whether these are the eighty of MT-bench, whatever the set is called."""
    first = question_set.questions.filter(number=OFFICIAL_NUMBERS[0]).first()
    return first is not None and first.turns[0].startswith(OFFICIAL_FIRST)


@transaction.atomic
def judge_prompts_store(*, family: str, rows: Iterable[files.Row]) -> int:
    """Judge prompts in FastChat's format; return how many are new. One that has changed becomes a new version."""
    new = 0
    for row in rows:
        kinds = {"single": JudgePrompt.Kind.SINGLE, "pairwise": JudgePrompt.Kind.PAIR}
        kind = kinds.get(row.text("type"))
        if kind is None:
            raise row.problem("type must be single or pairwise.")
        template, form = row.text("prompt_template"), row.text("output_format")
        if problem := template_problem(template):
            raise row.problem(problem)
        if form not in READERS:
            raise row.problem(f"output_format must be one of {', '.join(READERS)}.")
        is_later = "question_2}" in template
        new += judge_prompt_store(
            family=family,
            name=row.text("name", limit=100),
            kind=kind,
            scope=JudgePrompt.Scope.LATER if is_later else JudgePrompt.Scope.FIRST,
            has_reference="{ref_answer_1}" in template,
            system_prompt=row.text("system_prompt"),
            template=template,
            output_format=form,
            description=row.text("description", default=""),
            category=row.text("category", default=""),
        )
    return new


def judge_prompt_store(*, family: str, name: str, **fields: object) -> bool:
    """Add a prompt, or a new version of it where it differs from the newest; return whether anything was added."""
    newest = JudgePrompt.objects.filter(family=family, name=name).order_by("-version").first()
    if newest is not None and all(getattr(newest, field) == value for field, value in fields.items()):
        return False
    version = newest.version + 1 if newest else 1
    JudgePrompt.objects.create(family=family, name=name, version=version, **fields)
    return True


def _downloaded(address: str, folder: Path) -> Path:
    if urlsplit(address).scheme != "https":
        raise QuestionsInvalid("The address must begin with https://.")
    path = folder / "question.jsonl"
    try:
        with urllib.request.urlopen(address, timeout=DOWNLOAD_SECONDS) as answer:
            data = answer.read(DOWNLOAD_MAX_BYTES + 1)
    except (URLError, OSError) as error:
        raise QuestionsInvalid(f"{address} cannot be read: {error}.") from error
    if len(data) > DOWNLOAD_MAX_BYTES:
        raise QuestionsInvalid(f"{address} has more than {DOWNLOAD_MAX_BYTES // 2**20} MiB.")
    path.write_bytes(data)
    return path
