"""Question sets from files on pages: seen before they are stored, named by line and field where they are wrong, and
kept with their licence and source."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts import jobs
from accounts.models import Job
from evaluations.models import Question, QuestionSet, ReferenceAnswer
from evaluations.questions import uploads
from evaluations.questions.loading import DOUBTED, OWN_FILE
from tests import factories
from tests.evaluations.scripted import Ground

pytestmark = pytest.mark.django_db

YAML = b"""\
name: Small talk
licence: CC-BY-4.0
source: https://example.org/small-talk
author: Ada
questions:
  - question_id: 1
    category: Math
    turns:
      - What is 1 + 1?
      - And doubled?
    reference_answer: ["2", "4"]
  - question_id: 2
    category: geography
    turns: ["Capital of Peru?"]
    scorers: [{kind: exact, answers: [Lima]}]
"""
ROW = b'{"question_id": 1, "category": "a", "turns": ["x"]}\n'


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(factories.staff())
    return client


def upload(client: Client, data: bytes, name: str = "set.yaml", **fields: str) -> tuple[Job, str]:
    """Upload a file and have a worker look at it; the job, and its page."""
    file = SimpleUploadedFile(name, data)
    answer = client.post(reverse("evaluations:set_import"), {"file": file, "slug": "talk", **fields})
    assert answer.status_code == 302, answer.content.decode()
    job = Job.objects.latest("created_at")
    assert answer.headers["Location"] == reverse("evaluations:set_checked", args=(job.pk,))
    assert "data-busy" in client.get(answer.headers["Location"]).content.decode()
    return done(client, job)


def done(client: Client, job: Job) -> tuple[Job, str]:
    jobs.job_run(job_id=job.pk)
    job.refresh_from_db()
    return job, client.get(reverse("evaluations:set_checked", args=(job.pk,))).content.decode()


def confirm(client: Client, job: Job) -> tuple[Job, str]:
    answer = client.post(reverse("evaluations:set_import_confirm", args=(job.pk,)))
    assert answer.status_code == 302, answer.content.decode()
    return done(client, Job.objects.latest("created_at"))


def test_a_file_is_seen_first_and_then_kept_with_licence_and_source(admin: Client) -> None:
    job, text = upload(admin, YAML)
    assert not QuestionSet.objects.exists()
    for words in ("Small talk", "CC-BY-4.0", "What is 1 + 1?", "Capital of Peru?", "exact", "Import it"):
        assert words in text, words
    assert text.count("not one of MT-bench") == 1, "math is one of its categories, geography is not"
    stored, text = confirm(admin, job)
    assert stored.result["added"] == 2
    assert "See the set" in text
    found = QuestionSet.objects.get()
    assert (found.slug, found.name, found.licence) == ("talk", "Small talk", "CC-BY-4.0")
    assert found.source == "https://example.org/small-talk"
    reference = ReferenceAnswer.objects.get()
    assert (reference.author, reference.turns, reference.question.number) == ("Ada", ["2", "4"], 1)
    assert found.questions.get(number=1).category == "math"
    page = admin.get(reverse("evaluations:set", args=("talk",))).content.decode()
    assert "Licence: CC-BY-4.0" in page
    assert 'href="https://example.org/small-talk"' in page
    _, text = upload(admin, YAML)
    assert "All of this is there already" in text
    assert admin.post(reverse("evaluations:set_import_confirm", args=(stored.pk,))).status_code == 400


def test_what_the_form_says_goes_before_what_the_file_says(admin: Client) -> None:
    job, _ = upload(admin, YAML, name="set.yml", licence="CC0-1.0")
    confirm(admin, job)
    found = QuestionSet.objects.get()
    assert (found.licence, found.name) == ("CC0-1.0", "Small talk")


@pytest.mark.parametrize(
    ("name", "data", "problems"),
    [
        (
            "set.yaml",
            YAML.replace(b"Capital of Peru?", b" ").replace(b"category: Math", b"category: []"),
            ["set.yaml, line 7: category must be a text.", "set.yaml, line 14: turns: turn 1 is empty."],
        ),
        ("set.yaml", YAML.replace(b"question_id: 2", b"question_id: 1"), ["line 12: question_id: question 1 stands"]),
        ("set.yaml", YAML.replace(b'["2", "4"]', b"[2, 4]"), ["line 11: each of reference_answer must be a text."]),
        ("set.yaml", YAML.replace(b"kind: exact", b"kind: exactly"), ["line 15: scorers: "]),
        ("set.yaml", YAML.replace(b"licence:", b"license:"), ["line 2: license is not known."]),
        ("set.yaml", YAML.replace(b"author: Ada", b"author: [Ada"), ["set.yaml, line 5"]),
        ("set.yaml", b"- one\n- two\n", ["set.yaml, line 1: each question must have"]),
        ("set.yaml", b"name: x\n", ["hold one as `questions`"]),
        ("set.yaml", b"\xff\xfe", ["not text in UTF-8"]),
        ("set.jsonl", ROW + b'{"question_id"\n', ["line 2: this is not JSON"]),
        ("set.jsonl", b'{"question_id": 1, "category": "a"}\n', ["set.jsonl, line 1: turns must be a list"]),
        ("set.jsonl", b"\n", ["holds no question"]),
        ("gpt-4.jsonl", b'{"question_id": 1, "model_id": "x", "choices": [{"turns": ["2"]}]}\n', ["no set talk"]),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_changes_nothing_and_says_where(
    admin: Client, name: str, data: bytes, problems: list[str]
) -> None:
    job, text = upload(admin, data, name=name)
    assert job.state == Job.State.FAILED
    for problem in problems:
        assert problem in job.error
        assert problem in text.replace("&#x27;", "'").replace("&quot;", '"')
    assert "Import it" not in text
    assert not QuestionSet.objects.exists()
    assert admin.post(reverse("evaluations:set_import_confirm", args=(job.pk,))).status_code == 400


def test_a_file_with_many_mistakes_names_the_first_twenty(admin: Client) -> None:
    rows = b"".join(json.dumps({"question_id": number, "category": "a"}).encode() + b"\n" for number in range(50))
    job, text = upload(admin, rows, name="set.jsonl")
    assert len(job.result["fields"]["file"]) == 20
    assert text.count("turns must be a list") == 20


def test_fastchats_files_come_in_one_after_the_other(admin: Client, shared_data: Path) -> None:
    folder = shared_data / "mt_bench"
    job, text = upload(admin, (folder / "question.jsonl").read_bytes(), name="question.jsonl", licence="Apache-2.0")
    assert "And 60 more." in text
    confirm(admin, job)
    job, text = upload(admin, (folder / "reference_answer" / "gpt-4.jsonl").read_bytes(), name="gpt-4.jsonl")
    assert job.result["references"] == 30
    assert ", ".join(map(str, sorted(DOUBTED))) in text
    confirm(admin, job)
    assert QuestionSet.objects.get().licence == "Apache-2.0", "it stays where a later file says nothing"
    assert ReferenceAnswer.objects.exclude(doubt="").count() == len(DOUBTED)


def test_our_own_set_can_be_taken_along_and_changed(admin: Client) -> None:
    job, _ = upload(admin, OWN_FILE.read_bytes())
    confirm(admin, job)
    assert Question.objects.count() == 80
    changed = OWN_FILE.read_bytes().replace(b"Cut your review to exactly three sentences", b"Cut it to three sentences")
    _, text = upload(admin, changed)
    assert "changed" in text
    assert "Write a short review of a neighbourhood bakery" in text


def test_an_answered_question_keeps_its_words(admin: Client, tiny: Ground) -> None:
    from tests.evaluations.test_pages import done as run_done

    run_done(tiny.run())
    row = {"question_id": 1, "category": "math", "turns": ["Something else?", "And again?"]}
    job, text = upload(admin, json.dumps(row).encode(), name="set.jsonl", slug="tiny")
    assert "line 1: turns: question 1 was answered already in a run" in text
    assert job.state == Job.State.FAILED


def test_pages_refuse_who_is_no_administrator_and_too_large_a_file(
    client: Client, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluations.questions.import_views.FILE_MAX_BYTES", 10)
    file = SimpleUploadedFile("set.yaml", YAML)
    answer = admin.post(reverse("evaluations:set_import"), {"file": file, "slug": "talk"})
    assert answer.status_code == 400
    job = Job.objects.create(owner=factories.staff(), kind=uploads.KIND, parameters={})
    assert admin.get(reverse("evaluations:set_checked", args=(job.pk,))).status_code == 404, "another's"
    client.force_login(factories.user())
    assert client.get(reverse("evaluations:set_import")).status_code == 403
    assert client.post(reverse("evaluations:set_delete", args=("x",))).status_code == 403


def test_a_job_of_who_lost_their_rights_stores_nothing(admin: Client) -> None:
    job, _ = upload(admin, YAML)
    admin.post(reverse("evaluations:set_import_confirm", args=(job.pk,)))
    later = Job.objects.latest("created_at")
    type(later.owner).objects.update(is_staff=False)
    jobs.job_run(job_id=later.pk)
    later.refresh_from_db()
    assert later.state == Job.State.FAILED
    assert not QuestionSet.objects.exists()


def test_a_set_is_deleted_unless_a_run_asks_it(admin: Client, tiny: Ground) -> None:
    run = tiny.run()
    page = reverse("evaluations:set", args=("tiny",))
    assert "Delete this set" not in admin.get(page).content.decode()
    answer = admin.post(reverse("evaluations:set_delete", args=("tiny",)), follow=True)
    assert "Runs ask these questions" in answer.content.decode()
    run.delete()
    assert "Delete this set" in admin.get(page).content.decode()
    admin.post(reverse("evaluations:set_delete", args=("tiny",)))
    assert not QuestionSet.objects.exists()


def test_the_api_keeps_licence_and_source(api_client: Any) -> None:
    client = api_client()
    rows = [{"question_id": 7, "category": "math", "turns": ["2+2?"]}]
    given = {"slug": "own", "questions": rows, "licence": "CC0-1.0", "source": "A friend"}
    assert client.post("/api/v1/question-sets/", given, format="json").status_code == 201
    assert client.post("/api/v1/question-sets/", {"slug": "own", "questions": rows}, format="json").status_code == 201
    (listed,) = client.get("/api/v1/question-sets/").json()["results"]
    assert (listed["licence"], listed["source"]) == ("CC0-1.0", "A friend")
