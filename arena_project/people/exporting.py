"""A person's own data as a ZIP of JSON files, made by a worker. Battles come through `blinding`: what a person may not
know yet is in no file of theirs."""

import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from allauth.account.models import EmailAddress
from django.core.files import File
from django.db.models import QuerySet
from django.utils import timezone

from accounts.jobs import Progress, job_create, job_kind
from accounts.models import ApiKey, AuditEntry, Job, User
from battles.blinding import usage_concealed
from battles.models import Image, Reaction
from battles.own import battles_own
from common.limits import hit
from conversations.files.shape import conversation_out
from conversations.models import ConversationPair, Experiment, Scenario
from conversations.selectors import conversations_stored
from evaluations.models import Run, TalkJudgment, VoteSet
from leaderboard.models import Rating
from providers.models import Usage
from providers.usage_summary import NAMES, Figures

KIND = "account_export"
EXPORTS_PER_DAY = 10
DAY_SECONDS = 24 * 3600
CHUNK = 200

Row = Mapping[str, Any]


def account_export_request(*, owner: User) -> Job:
    """Have a worker make the file. Raises TooMany."""
    hit(f"account_exports:{owner.pk}", limit=EXPORTS_PER_DAY, seconds=DAY_SECONDS)
    return job_create(owner=owner, kind=KIND, parameters={"title": "Your data"})


@job_kind(KIND)
def account_export_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Write the ZIP beside the job; begun again, it is written anew."""
    name = f"tourney-{timezone.now():%Y-%m-%d}.zip"
    with tempfile.TemporaryFile() as file:
        rows = export_write(file, job.owner, progress)
        file.seek(0)
        job.file.save(name, File(file), save=False)
    return {"summary": ", ".join(f"{count:,} {part}" for part, count in rows.items() if count), "file": name}


def export_write(file: IO[bytes], person: User, progress: Callable[[int], None]) -> dict[str, int]:
    """The whole ZIP; returns how many rows of each part are in it. In constant memory."""
    counts: dict[str, int] = {}
    done = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, read in PARTS.items():
            with archive.open(f"{part}.json", "w", force_zip64=True) as entry:
                count = 0
                for count, row in enumerate(read(person), start=1):
                    entry.write((b"[\n" if count == 1 else b",\n") + _encoded(row))
                    progress(done + count)
                entry.write(b"\n]\n" if count else b"[]\n")
            counts[part] = count
            done += count
        counts["images"] = _images_write(archive, person)
    return counts


def _encoded(row: Row) -> bytes:
    return json.dumps(row, ensure_ascii=False, default=_plain).encode(errors="replace")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _images_write(archive: zipfile.ZipFile, person: User) -> int:
    count = 0
    for image in Image.objects.filter(owner=person).iterator(chunk_size=CHUNK):
        try:
            name = f"images/{image.pk}{Path(image.file.name or '').suffix}"
            with image.file.open("rb") as file, archive.open(name, "w") as entry:
                for piece in file.chunks():
                    entry.write(piece)
        except FileNotFoundError:
            continue
        count += 1
    return count


def _values(rows: QuerySet[Any], *names: str) -> Iterator[Row]:
    yield from rows.values(*names).iterator(chunk_size=CHUNK)


def _account(person: User) -> Iterator[Row]:
    names = ("username", "email", "first_name", "last_name", "date_joined", "last_login", "shares_data")
    addresses = list(EmailAddress.objects.filter(user=person).values("email", "verified", "primary"))
    yield {name: getattr(person, name) for name in names} | {
        "monthly_budget": person.monthly_budget,
        "is_staff": person.is_staff,
        "email_addresses": addresses,
    }


def _keys(person: User) -> Iterable[Row]:
    """Without the secret, which is kept nowhere."""
    names = ("name", "prefix", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at")
    for key in ApiKey.objects.filter(user=person).prefetch_related("uses"):
        days = [{"day": use.day, "requests": use.requests} for use in key.uses.all()]
        yield {name: getattr(key, name) for name in names} | {"requests_by_day": days}


def _reactions(person: User) -> Iterable[Row]:
    rows = Reaction.objects.filter(user=person)
    return _values(rows, "response_id", "response__turn__battle_id", "value", "created_at")


def _conversations(person: User) -> Iterator[Row]:
    for conversation in conversations_stored(owner=person).iterator(chunk_size=CHUNK):
        yield conversation_out(conversation) | {
            "experiment": conversation.experiment_id,
            "deleted_at": conversation.deleted_at,
        }


def _conversation_votes(person: User) -> Iterator[Row]:
    """Those that were given: a pair that waits for its vote has no names yet. Ids are only of conversations of one's
    own."""
    names = (
        "id", "conversation_a_id", "conversation_b_id", "model_a__slug", "model_b__slug", "side", "is_blind", "choice",
        "reasons", "comment", "decided_at", "withdrawn_at",
    )  # fmt: skip
    owners = ("conversation_a__owner_id", "conversation_b__owner_id")
    for row in _values(ConversationPair.objects.filter(voter=person).exclude(decided_at=None), *names, *owners):
        hidden = {
            f"{part}_id": None for part in ("conversation_a", "conversation_b") if row[f"{part}__owner_id"] != person.pk
        }
        yield {name: value for name, value in row.items() if name not in owners} | hidden


def _experiments(person: User) -> Iterable[Row]:
    return _values(
        Experiment.objects.filter(owner=person), "id", "name", "grid", "scenario_versions", "sharing", "created_at"
    )


def _scenarios(person: User) -> Iterable[Row]:
    names = (
        "slug", "version", "name", "category", "description", "name_a", "name_b", "system_a", "system_b", "opening",
        "first_side", "created_at",
    )  # fmt: skip
    return _values(Scenario.objects.filter(owner=person), *names)


def _evaluations(person: User) -> Iterator[Row]:
    for run in Run.objects.filter(owner=person).select_related("question_set", "baseline").iterator():
        answers = run.answers.values("question__number", "model__slug", "choice", "turn", "text", "finished_at")
        judgments = run.judgments.values(
            "question__number", "judge__slug", "model_a__slug", "model_b__slug", "choice", "turn", "repeat", "game",
            "state", "score", "winner", "text",
        )  # fmt: skip
        yield {
            "name": run.name,
            "mode": run.mode,
            "question_set": run.question_set.slug,
            "baseline": run.baseline and run.baseline.slug,
            "options": run.options,
            "status": run.status,
            "created_at": run.created_at,
            "answers": list(answers),
            "judgments": list(judgments),
        }


def _conversation_judgments(person: User) -> Iterable[Row]:
    names = (
        "conversation_id", "other_id", "judge__slug", "side", "game", "rubric", "state", "score_a", "score_b",
        "reason_a", "reason_b", "winner", "text", "finished_at",
    )  # fmt: skip
    return _values(TalkJudgment.objects.filter(owner=person), *names)


def _vote_sets(person: User) -> Iterator[Row]:
    votes = ("question", "turn", "model_a", "model_b", "person", "person_says", "judge", "judge_says")
    for one in VoteSet.objects.filter(owner=person).select_related("run").iterator():
        yield {
            "name": one.name,
            "run": one.run and one.run.name,
            "created_at": one.created_at,
            "votes": list(one.votes.values(*votes)),
        }


def _ranking(person: User) -> Iterable[Row]:
    """From votes, so of models whose names were revealed."""
    rows = Rating.objects.filter(snapshot__person=person)
    return _values(rows, "snapshot__computed_at", "model__slug", "rank", "rating", "wins", "losses", "ties")


def _usage(person: User) -> Iterator[Row]:
    """Less what would name the models of battles that the person has not voted on."""
    hidden = usage_concealed(person.pk, date(2000, 1, 1))
    for row in Usage.objects.filter(user=person).select_related("model").order_by("day", "model").iterator():
        figures = Figures(*(getattr(row, name) for name in NAMES))
        figures = figures.less(hidden.get((row.day, row.model_id), Figures()))
        if figures.requests:
            yield {"day": row.day, "model": row.model.slug} | {name: getattr(figures, name) for name in NAMES}


def _jobs(person: User) -> Iterable[Row]:
    names = ("id", "kind", "parameters", "state", "result", "error", "created_at", "finished_at")
    return _values(Job.objects.filter(owner=person), *names)


def _deeds(person: User) -> Iterable[Row]:
    return _values(AuditEntry.objects.filter(actor=person), "action", "subject", "detail", "created_at")


PARTS: dict[str, Callable[[User], Iterable[Row]]] = {
    "account": _account,
    "keys": _keys,
    "battles": battles_own,
    "reactions": _reactions,
    "conversations": _conversations,
    "conversation_votes": _conversation_votes,
    "conversation_judgments": _conversation_judgments,
    "experiments": _experiments,
    "scenarios": _scenarios,
    "evaluations": _evaluations,
    "vote_sets": _vote_sets,
    "ranking": _ranking,
    "usage": _usage,
    "jobs": _jobs,
    "deeds": _deeds,
}
