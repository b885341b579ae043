"""Imports as jobs, for those who upload a file."""

from typing import Any

from django.core.files import File

from accounts.errors import ScopeMissing
from accounts.jobs import Progress, job_create, job_kind
from accounts.models import Job, User
from battles.imports.battles import battles_import, board_check
from battles.imports.errors import ImportInvalid
from battles.imports.preferences import preferences_import, prompt_set_check

BATTLES = "battles_import"
PREFERENCES = "preferences_import"
SHOWN_MODELS = 200


def battles_import_request(*, owner: User, file: "File[Any]", board: str, is_dry_run: bool) -> Job:
    """Have a worker import a file. Raises ImportInvalid at once where the board is not one for imports."""
    board_check(board)
    title = f"Check of votes for {board}" if is_dry_run else f"Import of votes into {board}"
    return job_create(
        owner=owner, kind=BATTLES, parameters={"title": title, "board": board, "dry_run": is_dry_run}, file=file
    )


def preferences_import_request(*, owner: User, file: "File[Any]", prompt_set: str, is_dry_run: bool) -> Job:
    """Have a worker import a file. Raises ImportInvalid at once where the prompt set has no slug."""
    prompt_set_check(prompt_set)
    title = f"Check of preferences for {prompt_set}" if is_dry_run else f"Import of preferences into {prompt_set}"
    parameters = {"title": title, "prompt_set": prompt_set, "dry_run": is_dry_run}
    return job_create(owner=owner, kind=PREFERENCES, parameters=parameters, file=file)


def import_confirm(*, owner: User, checked: Job) -> Job:
    """Import the file that a job has checked. Raises ImportInvalid where it has not, or found something wrong."""
    asked = checked.parameters
    if checked.kind not in (BATTLES, PREFERENCES) or not asked["dry_run"] or checked.state != Job.State.DONE:
        raise ImportInvalid("There is no checked file to import. Upload it again.")
    with checked.file.open("rb") as file:
        if checked.kind == BATTLES:
            return battles_import_request(owner=owner, file=file, board=asked["board"], is_dry_run=False)
        return preferences_import_request(owner=owner, file=file, prompt_set=asked["prompt_set"], is_dry_run=False)


@job_kind(BATTLES)
def battles_import_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Safe to begin again: an import that did not end has left nothing, and one that did adds nothing."""
    _check_owner(job)
    asked = job.parameters
    with job.file.open("rb") as file:
        done = battles_import(file=file, board=asked["board"], is_dry_run=asked["dry_run"], on_row=progress)
    came = "nothing was stored" if done.new is None else f"{done.new:,} new"
    told = vars(done) | {"models": len(done.models), "unknown": done.unknown[:SHOWN_MODELS]}
    return told | {
        "unknown_models": len(done.unknown),
        "summary": f"{done.rows:,} rows on {len(done.models)} models, {came}.",
    }


@job_kind(PREFERENCES)
def preferences_import_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Safe to begin again, as above."""
    _check_owner(job)
    asked = job.parameters
    with job.file.open("rb") as file:
        done = preferences_import(
            file=file, prompt_set=asked["prompt_set"], is_dry_run=asked["dry_run"], on_row=progress
        )
    came = "nothing was stored" if done.new is None else f"{done.new:,} new, with {done.new_prompts:,} new prompts"
    kinds = f"{done.pairs:,} pairs, {done.single:,} single answers, {done.only_prompts:,} prompts alone"
    return vars(done) | {"summary": f"{done.rows:,} rows: {kinds}; {came}."}


def _check_owner(job: Job) -> None:
    if not job.owner.is_staff:  # they may have lost their rights since they asked
        raise ScopeMissing("Only staff may do this.")
