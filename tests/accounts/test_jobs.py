"""Jobs: long work that says how far it is, can be cancelled, and survives its worker."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import jobs
from accounts.jobs import Progress
from accounts.models import Job
from common.errors import TourneyError
from tests import factories

pytestmark = pytest.mark.django_db


class LineIsWrong(TourneyError):
    code = "line_is_wrong"
    message = "Line 3: there is no winner."


@pytest.fixture
def work() -> Iterator[dict[str, Any]]:
    """A kind of job whose work is `work["does"]`."""
    given: dict[str, Any] = {"does": lambda job, progress: {"summary": "All done."}}
    jobs.job_kind("test_work")(lambda job, progress: given["does"](job, progress))
    yield given
    jobs._works.pop("test_work")


def make(owner: factories.User | None = None, **fields: Any) -> Job:
    return Job.objects.create(owner=owner or factories.user(), kind="test_work", **fields)


def run(job: Job) -> Job:
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    return job


def test_a_job_runs_once_and_keeps_its_result(work: dict[str, Any]) -> None:
    job = run(make())
    assert (job.state, job.summary, job.attempts) == (Job.State.DONE, "All done.", 1)
    assert run(job).attempts == 1


def test_what_the_work_refuses_is_shown_in_its_own_words(work: dict[str, Any]) -> None:
    def refuse(job: Job, progress: Progress) -> dict[str, Any]:
        raise LineIsWrong(fields={"file": ["Line 3"]})

    work["does"] = refuse
    job = run(make())
    assert (job.state, job.error) == (Job.State.FAILED, "Line 3: there is no winner.")
    assert job.result == {"code": "line_is_wrong", "fields": {"file": ["Line 3"]}}


def test_a_defect_is_logged_and_not_shown(work: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    def fail(job: Job, progress: Progress) -> dict[str, Any]:
        raise RuntimeError("secret inside")

    work["does"] = fail
    job = run(make())
    assert job.state == Job.State.FAILED
    assert "secret" not in job.error
    assert "secret inside" in caplog.text


def test_progress_is_kept_and_a_cancelled_job_ends_at_its_next_step(work: dict[str, Any]) -> None:
    owner, seen = factories.user(), []

    def slow(job: Job, progress: Progress) -> dict[str, Any]:
        progress(5, 10)
        seen.append(Job.objects.values_list("done", "total").get(pk=job.pk))
        jobs.job_cancel(owner=owner, job_id=job.pk)
        progress._next = 0.0  # as if a second had passed
        progress(6, 10)
        raise AssertionError("the work went on")

    work["does"] = slow
    job = run(make(owner))
    assert seen == [(5, 10)]
    assert job.state == Job.State.CANCELLED


def test_a_queued_job_is_cancelled_at_once_and_never_begins(work: dict[str, Any]) -> None:
    job = make()
    jobs.job_cancel(owner=job.owner, job_id=job.pk)
    assert run(job).state == Job.State.CANCELLED
    assert job.attempts == 0


def test_nobody_cancels_or_reads_another_ones_job(work: dict[str, Any], api_client: Callable[..., APIClient]) -> None:
    job = make()
    stranger = api_client(factories.user(), scopes=("read", "run"))
    assert stranger.get(f"/api/v1/jobs/{job.pk}/").status_code == 404
    assert stranger.post(f"/api/v1/jobs/{job.pk}/cancel/").status_code == 404
    assert stranger.get("/api/v1/jobs/").json()["count"] == 0


def test_the_job_of_a_dead_worker_is_done_by_the_next(work: dict[str, Any]) -> None:
    old = timezone.now() - timedelta(minutes=5)
    job = make(state=Job.State.RUNNING, beat_at=old, attempts=1)
    alive = make(state=Job.State.RUNNING, beat_at=timezone.now(), attempts=1)
    Job.objects.filter(pk=job.pk).update(created_at=old)
    assert jobs.jobs_sweep() == 1
    assert run(job).state == Job.State.DONE
    alive.refresh_from_db()
    assert alive.state == Job.State.RUNNING


def test_a_job_that_kills_its_workers_is_given_up(work: dict[str, Any]) -> None:
    old = timezone.now() - timedelta(minutes=5)
    job = make(state=Job.State.RUNNING, beat_at=old, attempts=jobs.ATTEMPTS)
    jobs.jobs_sweep()
    job.refresh_from_db()
    assert job.state == Job.State.FAILED
    assert "interrupted" in job.error


def test_an_old_job_goes_with_its_file(work: dict[str, Any]) -> None:
    job = make(state=Job.State.DONE, finished_at=timezone.now() - jobs.KEPT_FOR - timedelta(days=1))
    job.file.save("old.txt", ContentFile(b"old"))
    storage, name = job.file.storage, job.file.name
    jobs.jobs_sweep()
    assert not Job.objects.filter(pk=job.pk).exists()
    assert not storage.exists(name)


def test_its_owner_fetches_what_it_made(work: dict[str, Any], api_client: Callable[..., APIClient]) -> None:
    def write(job: Job, progress: Progress) -> dict[str, Any]:
        job.file.save("out.csv", ContentFile(b"a,b\n"), save=False)
        return {"file": "pairs.csv"}

    work["does"] = write
    owner = factories.user()
    job = run(make(owner))
    client = api_client(owner, scopes=("read",))
    shown = client.get(f"/api/v1/jobs/{job.pk}/").json()
    assert (shown["state"], shown["progress"]) == ("done", 1.0)
    answer = client.get(shown["file"])
    assert b"".join(iter(answer)) == b"a,b\n"
    assert 'filename="pairs.csv"' in answer.headers["Content-Disposition"]
    job.file.delete(save=False)


def test_the_page_shows_progress_and_cancels(work: dict[str, Any], client: Client) -> None:
    owner = factories.user()
    client.force_login(owner)
    assert "No jobs yet" in client.get("/account/jobs/").content.decode()
    job = make(owner, state=Job.State.RUNNING, done=1500, total=3000, started_at=timezone.now())
    page = client.get("/account/jobs/").content.decode()
    assert 'max="3000" value="1500"' in page
    client.post(f"/account/jobs/{job.pk}/cancel/")
    job.refresh_from_db()
    assert job.is_cancel_asked
