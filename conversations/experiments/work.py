"""Experiments as jobs."""

from typing import Any

from accounts.jobs import Progress, job_kind
from accounts.models import Job
from conversations.experiments.running import experiment_play
from conversations.experiments.selectors import experiment_counts
from conversations.experiments.services import KIND, conversations_make
from conversations.models import Experiment


@job_kind(KIND)
def experiment_work(job: Job, progress: Progress) -> dict[str, Any]:
    """Safe to begin again: what has been said is not asked for once more."""
    experiment = Experiment.objects.get(pk=job.parameters["experiment"])
    conversations_make(experiment=experiment)
    experiment_play(experiment=experiment, on_progress=progress)
    counts = experiment_counts(experiment)
    still = f", {counts['failed']} stand still at a turn that failed" if counts["failed"] else ""
    return counts | {"summary": f"{counts['ended']} of {counts['conversations']} conversations have ended{still}."}
