"""Staff upload a file, see what would come, and only then store it."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts import jobs
from accounts.models import Job
from battles.models import ImportedPreference
from leaderboard.models import Comparison
from tests import factories
from tests.imports.test_battles_import import BAD, SHAPES
from tests.imports.test_preferences_import import PLAIN, jsonl

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Any, settings: Any, tmp_path: Any) -> Any:
    settings.MEDIA_ROOT = tmp_path
    client.force_login(factories.staff())
    return client


def check(client: Any, data: bytes, **fields: str) -> Any:
    """Upload, let the worker look at it, and open the page of the check."""
    asked = {"kind": "battles_import", "slug": "crowd", "file": SimpleUploadedFile("votes", data)} | fields
    answer = client.post("/imports/", asked)
    assert answer.status_code == 302, answer.content
    jobs.job_run(job_id=answer.headers["Location"].rstrip("/").rsplit("/", 1)[1])
    return client.get(answer.headers["Location"])


def confirmed(client: Any) -> Job:
    checked = Job.objects.get()
    answer = client.post(f"/imports/{checked.pk}/confirm/")
    assert answer.status_code == 302, answer.content
    job = Job.objects.exclude(pk=checked.pk).get()
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    return job


def test_votes_are_checked_shown_and_then_stored(staff: Any) -> None:
    page = check(staff, SHAPES["packed"]).content.decode()
    assert "2 models are not in the catalogue" in page
    assert "Import it" in page
    assert not Comparison.objects.exists()
    assert confirmed(staff).summary == "2 rows on 2 models, 2 new."
    assert Comparison.objects.count() == 2


def test_preferences_are_checked_shown_and_then_stored(staff: Any) -> None:
    page = check(staff, jsonl(PLAIN), kind="preferences_import").content.decode()
    assert "Because." in page
    assert not ImportedPreference.objects.exists()
    assert confirmed(staff).summary.endswith("1 new, with 1 new prompts.")
    assert ImportedPreference.objects.count() == 1


def test_a_bad_file_names_its_line_and_cannot_be_stored(staff: Any) -> None:
    page = check(staff, BAD["unknown winner"]).content.decode()
    assert "line 2: winner" in page
    assert "Import it" not in page
    assert staff.post(f"/imports/{Job.objects.get().pk}/confirm/").status_code == 400
    assert Job.objects.count() == 1


def test_a_board_that_is_not_for_imports_is_refused_at_once(staff: Any) -> None:
    answer = staff.post("/imports/", {"kind": "battles_import", "slug": "main", "file": SimpleUploadedFile("v", b"x")})
    assert answer.status_code == 400
    assert "not one for imports" in answer.content.decode()


def test_the_pages_are_for_staff_and_each_check_for_its_owner(staff: Any, client: Any) -> None:
    check(staff, SHAPES["csv"])
    job = Job.objects.get()
    client.force_login(factories.staff())
    assert client.get(f"/imports/{job.pk}/").status_code == 404
    assert client.post(f"/imports/{job.pk}/confirm/").status_code == 404
    client.force_login(factories.user())
    for address in ("/imports/", f"/imports/{job.pk}/"):
        assert client.get(address).status_code == 403
    assert client.post(f"/imports/{job.pk}/confirm/").status_code == 403
