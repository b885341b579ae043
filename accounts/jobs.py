"""Long work that somebody asked for. A job's row says how far it is; a worker does the work, in any process.

A kind of work is a function of the job and its `Progress`, registered by the app whose work it is. It must be safe to
start again: a worker that dies leaves the job to the next one.
"""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts.errors import JobNotFound, JobOver
from accounts.models import Job, User
from common.audit import Deed, note
from common.clock import lapsed
from common.errors import StorageFailed, TourneyError
from common.heart import Heart
from common.limits import hit
from common.stopping import GivesWay, step

log = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
# A worker that has not said so for this long lives no more.
DEAD_AFTER = timedelta(seconds=30)
# A job that has taken several workers with it is not given another.
ATTEMPTS = 3
WRITTEN_EVERY_SECONDS = 1.0
KEPT_FOR = timedelta(days=30)
BROKEN = "Something broke on our side. The log of the server says more; start it again."
TAKES_WORKERS_DOWN = "It was interrupted several times. Start it again; the log of the server may say more."


class JobCancelled(Exception):
    """Raised by `Progress` inside the work once somebody has asked for its end."""


class Progress:
    """Given to the work: called with what is done, it keeps it for those who wait and ends a cancelled job."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._next = 0.0  # by the clock that nobody sets

    def __call__(self, done: int, total: int | None = None) -> None:
        """Note how many rows or steps are done, and of how many. Costs a query once a second at most.

        Raises JobCancelled, and GivesWay in a process that is being ended.
        """
        step()
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + WRITTEN_EVERY_SECONDS
        rows = Job.objects.filter(pk=self._job.pk, state=Job.State.RUNNING, is_cancel_asked=False)
        if not rows.update(done=done, total=total if total is not None else F("total"), beat_at=timezone.now()):
            raise JobCancelled


Work = Callable[[Job, Progress], dict[str, Any]]
_works: dict[str, Work] = {}


def job_kind(kind: str) -> Callable[[Work], Work]:
    """Register the work of a kind of job; what it returns becomes the job's result. TourneyErrors that it raises are
    shown to the owner as they are."""

    def register(work: Work) -> Work:
        _works[kind] = work
        return work

    return register


@transaction.atomic
def job_create(
    *, owner: User, kind: str, parameters: dict[str, Any] | None = None, file: "File[Any] | None" = None
) -> Job:
    """Store a job and have a worker begin once the transaction has committed. Raises TooMany,
    StorageFailed."""
    hit(f"jobs:{owner.pk}", limit=settings.JOBS_PER_HOUR, seconds=3600)
    job = Job(owner=owner, kind=kind, parameters=parameters or {})
    if file is not None:
        try:
            job.file.save(file.name or kind, file, save=False)
        except OSError as error:
            log.error("the file of a job could not be stored: %r", error)
            raise StorageFailed from error
    job.save()
    detail = {"job": str(job.pk), "title": job.title, "file": file.name if file is not None else ""}
    note(Deed(actor_id=owner.pk, action=kind, subject=str(job.parameters.get("board", "")), detail=detail))
    transaction.on_commit(lambda: _enqueue(job))
    return job


def job_cancel(*, owner: User, job_id: UUID | str) -> Job:
    """Have a job end: at once where it has not begun, else at its next step. Raises JobNotFound, JobOver."""
    own = Job.objects.filter(pk=job_id, owner=owner)
    if not own.filter(state=Job.State.QUEUED).update(state=Job.State.CANCELLED, finished_at=timezone.now()):
        own.filter(state=Job.State.RUNNING).update(is_cancel_asked=True)
    job = own.first()
    if job is None:
        raise JobNotFound()
    if job.state in (Job.State.DONE, Job.State.FAILED):
        raise JobOver()
    return job


def job_run(*, job_id: UUID | str) -> None:
    """Do the work of a queued job; nothing where it is no longer queued. Every end is stored.

    Raises GivesWay in a process that is being ended; the job is in the queue again then.
    """
    now = timezone.now()
    claimed = Job.objects.filter(pk=job_id, state=Job.State.QUEUED).update(
        state=Job.State.RUNNING, started_at=now, beat_at=now, attempts=F("attempts") + 1, done=0, error=""
    )
    if not claimed:
        return
    job = Job.objects.select_related("owner").get(pk=job_id)
    running = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING)
    with Heart(lambda: running.update(beat_at=timezone.now()), seconds=BEAT_SECONDS):
        try:
            result = _works[job.kind](job, Progress(job))
        except JobCancelled:
            _end(job, Job.State.CANCELLED)
        except GivesWay:
            running.update(state=Job.State.QUEUED, attempts=F("attempts") - 1)  # it has done nothing wrong
            raise
        except TourneyError as error:
            _end(job, Job.State.FAILED, error=str(error), result={"code": error.code, "fields": error.fields})
        except OSError:
            log.exception("Job %s (%s) could not write its file", job.pk, job.kind)
            _end(job, Job.State.FAILED, error=StorageFailed.message)
        except Exception:
            log.exception("Job %s (%s) failed", job.pk, job.kind)
            _end(job, Job.State.FAILED, error=BROKEN)
        else:
            _end(job, Job.State.DONE, result=result)


def jobs_sweep() -> int:
    """Queue again what a dead worker left under way, and what never reached one; drop old ones with their files.

    Returns how many were queued.
    """
    now = timezone.now()
    dead = Job.objects.filter(lapsed("beat_at", now - DEAD_AFTER), state=Job.State.RUNNING)
    dead.filter(attempts__gte=ATTEMPTS).update(state=Job.State.FAILED, error=TAKES_WORKERS_DOWN, finished_at=now)
    dead.update(state=Job.State.QUEUED)
    waiting = list(Job.objects.filter(lapsed("created_at", now - DEAD_AFTER), state=Job.State.QUEUED))
    for job in waiting:
        _enqueue(job)  # twice in the queue is once: the first worker claims it
    old = Q(finished_at__lt=now - KEPT_FOR)
    for job in Job.objects.filter(old, state__in=Job.OVER).iterator():
        if job.file:
            job.file.delete(save=False)
        job.delete()
    return len(waiting)


def _enqueue(job: Job) -> None:
    """Never fails: the sweep of the next start finds what a broker did not take."""
    from accounts.tasks import job_run as task  # the task imports this module

    try:
        task.apply_async((str(job.pk),), retry=False)
    except Exception as error:  # whatever a broker raises when it is down
        log.warning("job %s waits for the next start: %r", job.pk, error)


def _end(job: Job, state: str, *, error: str = "", result: dict[str, Any] | None = None) -> None:
    fields = {"file": job.file.name} if job.file else {}
    Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).update(
        state=state, error=error, result=result or {}, finished_at=timezone.now(), **fields
    )
