"""Question sets that somebody uploads: a job looks at the file and says what would come, and another stores it once
they have seen that. Called through the services."""

from collections import Counter
from pathlib import PurePath
from typing import Any

from django.core.files import File
from django.core.validators import validate_slug
from django.db import transaction

from accounts.errors import ScopeMissing
from accounts.jobs import Progress, job_create, job_kind
from accounts.models import Job, User
from common.text import counted
from evaluations.errors import QuestionsInvalid
from evaluations.models import Question
from evaluations.options import TEMPERATURES
from evaluations.questions.files import set_read
from evaluations.questions.loading import QuestionsReport, set_store

KIND = "questions_import"
FILE_MAX_BYTES = 16 * 2**20
SHOWN = 20
SHOWN_CHARACTERS = 160


def questions_upload(*, owner: User, file: "File[Any]", slug: str, about: dict[str, str] | None = None) -> Job:
    """Have a worker look at a file. `about` (name, description, licence, source) goes before what the file says. Raises
    QuestionsInvalid at once where the file is too large."""
    validate_slug(slug)
    if file.size > FILE_MAX_BYTES:
        raise QuestionsInvalid(f"The file has more than {FILE_MAX_BYTES // 2**20} MiB. Split it.")
    name = PurePath(file.name or "questions.jsonl").name[-100:]
    return _request(owner, file, {"slug": slug, "about": about or {}, "file": name, "is_dry_run": True})


def questions_upload_confirm(*, owner: User, checked: Job) -> Job:
    """Store the file that a job has looked at. Raises QuestionsInvalid where it has not, or found something wrong."""
    if checked.kind != KIND or not checked.parameters["is_dry_run"] or checked.state != Job.State.DONE:
        raise QuestionsInvalid("There is no checked file to import. Upload it again.")
    with checked.file.open("rb") as file:
        return _request(owner, file, checked.parameters | {"is_dry_run": False})


def _request(owner: User, file: "File[Any]", parameters: dict[str, Any]) -> Job:
    what = "Check of questions for" if parameters["is_dry_run"] else "Import of questions into"
    return job_create(
        owner=owner, kind=KIND, parameters=parameters | {"title": f"{what} {parameters['slug']}"}, file=file
    )


@job_kind(KIND)
def questions_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Safe to begin again: an import that did not end has left nothing, and one that did adds nothing."""
    if not job.owner.is_staff:  # they may have lost their rights since they asked
        raise ScopeMissing("Only staff may do this.")
    asked = job.parameters
    with job.file.open("rb") as file:
        found = set_read(file, asked["file"], author=asked["slug"])
    found.about |= {name: value for name, value in asked["about"].items() if value}
    with transaction.atomic():
        told = _told(set_store(slug=asked["slug"], found=found))
        transaction.set_rollback(asked["is_dry_run"])
    return told


def _told(report: QuestionsReport) -> dict[str, Any]:
    """What the page says of it, ready for JSON."""
    question_set = report.question_set
    coming = [("new", one) for one in report.fresh] + [("changed", one) for one in report.other]
    counts = Counter(one.category for _, one in coming)
    names = ("slug", "name", "description", "licence", "source")
    figures = ("added", "changed", "same", "references", "doubted")
    return {
        "set": {name: getattr(question_set, name) for name in names},
        **{name: getattr(report, name) for name in figures},
        "categories": [[name, counts[name], name in TEMPERATURES] for name in sorted(counts)],
        "first": [_shown(state, one) for state, one in coming[:SHOWN]],
        "more": max(0, len(coming) - SHOWN),
        "summary": (
            f"{counted(report.added, 'new question')}, {report.changed:,} changed, {report.same:,} equal; "
            f"{counted(report.references, 'new reference answer')}."
        ),
    }


def _shown(state: str, question: Question) -> dict[str, Any]:
    text = question.turns[0]
    return {
        "state": state,
        "number": question.number,
        "category": question.category,
        "turns": len(question.turns),
        "text": text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS].rstrip()} …",
        "scorers": [scorer["kind"] for scorer in question.scorers],
    }
