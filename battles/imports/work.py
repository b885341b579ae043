"""Imports as jobs, for those who upload a file."""

from typing import Any

from django.core.files import File

from accounts.errors import ScopeMissing
from accounts.jobs import Progress, job_create, job_kind
from accounts.models import Job, User
from battles.imports.battles import battles_import, board_check

KIND = "battles_import"
SHOWN_MODELS = 200


def battles_import_request(*, owner: User, file: "File[Any]", board: str, is_dry_run: bool) -> Job:
    """Have a worker import a file. Raises ImportInvalid at once where the board is not one for imports."""
    board_check(board)
    title = f"Check of votes for {board}" if is_dry_run else f"Import of votes into {board}"
    return job_create(
        owner=owner, kind=KIND, parameters={"title": title, "board": board, "dry_run": is_dry_run}, file=file
    )


@job_kind(KIND)
def battles_import_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Safe to begin again: an import that did not end has left nothing, and one that did adds nothing."""
    if not job.owner.is_staff:  # they may have lost their rights since they asked
        raise ScopeMissing("Only staff may do this.")
    asked = job.parameters
    with job.file.open("rb") as file:
        done = battles_import(file=file, board=asked["board"], is_dry_run=asked["dry_run"], on_row=progress)
    came = "nothing was stored" if done.new is None else f"{done.new:,} new"
    told = vars(done) | {"models": len(done.models), "unknown": done.unknown[:SHOWN_MODELS]}
    return told | {
        "unknown_models": len(done.unknown),
        "summary": f"{done.rows:,} rows on {len(done.models)} models, {came}.",
    }
