"""Runs as jobs."""

from typing import Any

from accounts.jobs import Progress, job_kind
from accounts.models import Job
from evaluations.battles import judging
from evaluations.running import KIND, run_work


@job_kind(KIND)
def evaluation_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Safe to begin again: only what is missing is done."""
    return run_work(job.parameters, progress)


@job_kind(judging.KIND)
def battle_judging_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Safe to begin again: only what is missing is done."""
    return judging.battles_work(job.parameters, job.owner, progress)
