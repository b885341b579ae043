"""Administrators upload votes; a job takes them in and says what came."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from accounts import jobs
from accounts.models import Job
from leaderboard.models import Comparison
from tests import factories
from tests.imports.test_battles_import import BAD, SHAPES

pytestmark = pytest.mark.django_db
URL = "/api/v1/imports/battles/"


@pytest.fixture(autouse=True)
def uploads(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path


def upload(client: APIClient, data: bytes, **more: Any) -> Any:
    return client.post(URL, {"file": SimpleUploadedFile("votes", data), "board": "crowd"} | more, format="multipart")


def finished(answer: Any) -> Job:
    assert answer.status_code == 202, answer.content
    jobs.job_run(job_id=answer.json()["job"]["id"])
    return Job.objects.get(pk=answer.json()["job"]["id"])


def test_an_upload_becomes_a_job_that_says_what_came(api_client: Callable[..., APIClient]) -> None:
    job = finished(upload(api_client(factories.staff()), SHAPES["packed"]))
    assert (job.state, job.summary) == (Job.State.DONE, "2 rows on 2 models, 2 new.")
    assert (job.result["unknown"], job.result["outcomes"]) == (["Ann", "Ben"], {"a": 2})


def test_a_dry_run_stores_nothing(api_client: Callable[..., APIClient]) -> None:
    job = finished(upload(api_client(factories.staff()), SHAPES["csv"], dry_run=True))
    assert job.result["new"] is None
    assert not Comparison.objects.exists()


def test_the_job_names_the_bad_line(api_client: Callable[..., APIClient]) -> None:
    job = finished(upload(api_client(factories.staff()), BAD["unknown winner"]))
    assert (job.state, job.result["code"]) == (Job.State.FAILED, "import_invalid")
    assert job.error.startswith("line 2: winner")


def test_the_main_board_takes_no_imports(api_client: Callable[..., APIClient]) -> None:
    answer = upload(api_client(factories.staff()), SHAPES["csv"], board="main")
    assert (answer.status_code, Job.objects.count()) == (400, 0)


def test_only_staff_may_import(api_client: Callable[..., APIClient]) -> None:
    person = api_client(factories.user(), scopes=("read", "run", "vote", "export"))
    assert upload(person, SHAPES["csv"]).status_code == 403


def test_rights_that_were_lost_meanwhile_are_lost(api_client: Callable[..., APIClient]) -> None:
    owner = factories.staff()
    answer = upload(api_client(owner), SHAPES["csv"])
    type(owner).objects.update(is_staff=False)
    assert finished(answer).state == Job.State.FAILED
    assert not Comparison.objects.exists()
