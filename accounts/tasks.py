"""Celery shells around jobs."""

from celery import shared_task

from accounts import jobs


@shared_task(name="job_run")
def job_run(job_id: str) -> None:
    jobs.job_run(job_id=job_id)


@shared_task(name="jobs_sweep")
def jobs_sweep() -> None:
    jobs.jobs_sweep()
