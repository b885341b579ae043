"""Exports by page, by job and by command."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.jobs import job_run
from accounts.models import Job
from tests import factories
from tests.battles.test_exports import vote

pytestmark = pytest.mark.django_db


def test_the_page_counts_own_votes_and_links_the_file(client: Any) -> None:
    one = vote()
    vote()
    client.force_login(one.voter)
    asked = {"kind": "dpo", "format": "csv", "shape": "standard", "since": "2020-01-01", "bundle": "on"}
    page = client.get("/exports/", asked).content.decode()
    assert "1 vote fits<" in page
    assert "/api/v1/exports/dpo/?format=csv&amp;shape=standard&amp;since=2020-01-01&amp;bundle=zip" in page


def test_a_job_writes_the_file_of_who_asked(client: Any, settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    one = vote()
    vote()
    client.force_login(one.voter)
    asked = {"kind": "dpo", "format": "jsonl", "shape": "standard"}
    assert client.post("/exports/", asked).status_code == 302
    job = Job.objects.get(owner=one.voter)
    job_run(job_id=job.pk)
    job.refresh_from_db()
    assert (job.state, job.summary) == ("done", "1 rows."), job.error
    with job.file.open() as file:
        assert json.loads(file.read())["prompt"] == "Question 1?"


def test_a_job_is_asked_for_by_the_api_too(api_client: Any) -> None:
    client = api_client(factories.user(), scopes=("export",))
    response = client.post("/api/v1/exports/kto/", {"format": "parquet"}, format="json")
    assert (response.status_code, response.json()["state"]) == (202, "queued")


def test_the_command_writes_a_file_and_refuses_an_unknown_board(tmp_path: Path) -> None:
    vote()
    call_command("export", "dpo", output=str(tmp_path / "dpo.jsonl"))
    assert json.loads((tmp_path / "dpo.jsonl").read_text())["chosen"] == "Answer 1 of side a."
    with pytest.raises(CommandError, match="nowhere"):
        call_command("export", "dpo", board="nowhere", output=str(tmp_path / "none.jsonl"))
