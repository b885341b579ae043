"""Evaluations for programs: priced, run, read and taken away; each person their own."""

import io
import json
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from asgiref.sync import async_to_sync
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from accounts import jobs
from accounts.models import Scope
from evaluations.models import QuestionSet, Run, RunPair, VoteSet
from evaluations.reading.votes import FILE_MAX_BYTES
from evaluations.services import run_do, run_pair_refresh
from tests import factories
from tests.evaluations.scripted import Always, Ground
from tests.fakes.scripts import Failure

pytestmark = pytest.mark.django_db

MakeClient = Callable[..., APIClient]
ROOT = "/api/v1/evaluations/"
VOTES_HEAD = b"question_id,category,turn,model_a,model_b,human,human_winner,judge,judge_winner\n"


@pytest.fixture
def client(api_client: MakeClient) -> APIClient:
    return api_client()


@pytest.fixture
def ground(tiny: Ground) -> Ground:
    for name in ("alpha", "beta", "judge"):
        tiny.model(name)
    return tiny


def wanted(**fields: Any) -> dict[str, Any]:
    usual = {"name": "mine", "question_set": "tiny", "models": ["alpha", "beta"], "judges": ["judge"]}
    return usual | fields


async def _read(pieces: AsyncIterator[bytes]) -> bytes:
    return b"".join([piece async for piece in pieces])


def done(run: Run) -> Run:
    run_do(run_id=run.pk, tell=lambda counts: None)
    run.refresh_from_db()
    return run


def test_a_run_is_priced_made_once_and_read_to_its_results(client: APIClient, ground: Ground) -> None:
    dry = client.post(ROOT, wanted(dry_run=True), format="json")
    assert (dry.status_code, dry.json()["id"], dry.json()["estimate"]["answers"]) == (200, None, 12)
    assert not Run.objects.exists()
    made = [client.post(ROOT, wanted(), format="json", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [one.status_code for one in made] == [201, 201]
    run = Run.objects.get()
    assert made[0].json() == made[1].json()
    assert made[0].json()["status"] == "queued"
    assert client.get(f"{ROOT}{run.pk}/results/").json()["error"]["code"] == "results_not_ready"
    assert run.job_id is not None
    jobs.job_run(job_id=run.job_id)
    state = client.get(f"{ROOT}{run.pk}/").json()
    assert (state["status"], state["has_results"], state["progress"]) == ("done", True, None)
    document = client.get(f"{ROOT}{run.pk}/results/").json()
    assert document["model_results"][0]["overall_score"]["mean"] == pytest.approx(1.5)
    assert client.get(f"{ROOT}mine/results/").json() == document
    assert client.get(f"{ROOT}nobodys/results/").status_code == 404
    assert (document["run"]["status"], document["run"]["finished_at"] is None) == ("done", False)
    assert "Alpha" in client.get(f"{ROOT}{run.pk}/results/?format=csv").content.decode()
    assert "| Alpha |" in client.get(f"{ROOT}{run.pk}/results/?format=md").content.decode()
    assert client.get(f"{ROOT}{run.pk}/results/?format=exe").status_code == 400


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"question_set": "none"}, "question set"), ({"models": ["nobody"]}, "nobody"), ({"mode": "x"}, "mode"),
        ({"options": {"repeats": 99}}, "repeats"), ({"options": {"colour": 1}}, "colour"), ({"models": []}, "models"),
        ({"mode": "pairwise-baseline"}, "baseline"), ({"name": "no spaces"}, "name"), ({"options": []}, "options"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_is_refused_in_words(
    client: APIClient, ground: Ground, fields: dict[str, Any], says: str
) -> None:
    answer = client.post(ROOT, wanted(**fields), format="json")
    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]
    assert not Run.objects.exists()


def test_a_run_is_cancelled_resumed_tried_again_and_extended(client: APIClient, ground: Ground) -> None:
    ground.upstream.scripts["beta"] = Failure("400 Bad Request")
    run = done(ground.run(models="alpha beta"))
    ground.upstream.scripts["beta"] = Always("beta 2")
    for action, status in (("retry", "queued"), ("cancel", "cancelled"), ("resume", "queued"), ("cancel", "cancelled")):
        assert client.post(f"{ROOT}{run.pk}/{action}/").json()["status"] == status, action
    ground.model("mute")
    answer = client.post(f"{ROOT}{run.pk}/extend/", {"models": ["mute"]}, format="json")
    assert answer.json()["models"] == ["alpha", "beta", "mute"]
    busy = client.post(f"{ROOT}{run.pk}/resume/")
    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "run_busy")
    assert client.post(f"{ROOT}{run.pk}/extend/", {}, format="json").status_code == 400
    run.refresh_from_db()
    assert run.job_id is not None
    jobs.job_run(job_id=run.job_id)
    names = {row["model_name"] for row in client.get(f"{ROOT}{run.pk}/results/").json()["model_results"]}
    assert names == {"Alpha", "Beta", "Mute"}


def test_runs_are_their_owners_and_only_administrators_start_them(api_client: MakeClient, ground: Ground) -> None:
    run = done(ground.run())
    scopes = (Scope.READ, Scope.RUN, Scope.EXPORT)
    own, other = api_client(ground.owner, scopes=scopes), api_client(factories.user(), scopes=scopes)
    for path in ("", "results/", "agreement/", "answers/", "judgments/", "export/"):
        assert own.get(f"{ROOT}{run.pk}/{path}").status_code == 200, path
        assert other.get(f"{ROOT}{run.pk}/{path}").status_code == 404, path
    assert other.get(ROOT).json()["count"] == 0
    assert own.get(ROOT).json()["count"] == 1
    assert own.post(ROOT, wanted(), format="json").status_code == 403
    assert own.post(f"{ROOT}{run.pk}/resume/").status_code == 403
    reader = api_client(scopes=(Scope.READ,))
    assert reader.get(f"{ROOT}{run.pk}/export/").status_code == 403
    assert reader.post(ROOT, wanted(), format="json").status_code == 403
    assert APIClient().get(ROOT).status_code == 401


def test_a_list_of_runs_asks_as_much_for_many_as_for_one(
    client: APIClient, ground: Ground, django_assert_num_queries: Any
) -> None:
    for name in ("one", "two", "three"):
        ground.run(name)
    client.get(ROOT)
    with django_assert_num_queries(5):
        assert len(client.get(ROOT).json()["results"]) == 3


def test_answers_and_judgments_are_read_in_pages(client: APIClient, ground: Ground) -> None:
    run = done(ground.run())
    rows = client.get(f"{ROOT}{run.pk}/answers/?model=alpha&question=2&page_size=1").json()
    assert (rows["count"], len(rows["results"])) == (2, 1)
    assert rows["results"][0]["text"] == "alpha 1"
    judged = client.get(f"{ROOT}{run.pk}/judgments/?model=beta&turn=2").json()
    assert {(row["judge"], row["score"]) for row in judged["results"]} == {("judge", 2.0)}
    assert client.get(f"{ROOT}{run.pk}/answers/?turn=x").status_code == 400


def test_a_set_with_scorers_comes_in_and_its_matches_go_out(client: APIClient, ground: Ground) -> None:
    scorers = [{"kind": "exact", "answers": ["Alpha 1"], "ignore_case": True}]
    rows = [{"question_id": 1, "category": "words", "turns": ["Say it."], "scorers": scorers}]
    assert client.post("/api/v1/question-sets/", {"slug": "words", "questions": rows}, format="json").status_code == 201
    assert client.get("/api/v1/question-sets/words/").json()["results"][0]["scorers"][0]["kind"] == "exact"
    given = wanted(question_set="words", judges=[])
    made = client.post(ROOT, given, format="json").json()
    assert (made["estimate"]["matches"], made["estimate"]["judgments"]) == (2, 0)
    run = done(Run.objects.get())
    found = client.get(f"{ROOT}{run.pk}/judgments/").json()["results"]
    assert [(one["judge"], one["prompt_name"], one["model_a"], one["score"]) for one in found] == [
        (None, "exact", "alpha", 10.0),
        (None, "exact", "beta", 1.0),
    ]
    assert found[0]["details"]["scorer"]["answers"] == ["Alpha 1"]
    assert client.get(f"{ROOT}{run.pk}/agreement/").status_code == 200
    assert client.get(f"{ROOT}{run.pk}/export/").status_code == 200
    matches = client.get(f"{ROOT}{run.pk}/results/").json()["scorers"]["Alpha"]["matches"]
    assert matches == {"exact": {"passed": 1, "of": 1}}


def test_a_run_leaves_as_fastchats_files(client: APIClient, ground: Ground) -> None:
    run = done(ground.run())
    answer = client.get(f"{ROOT}{run.pk}/export/")
    packed = async_to_sync(_read)(cast(Any, answer).streaming_content)
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        names = set(archive.namelist())
        assert {"question.jsonl", "model_answer/Alpha.jsonl", "model_judgment/Judge_single.jsonl"} <= names
        row = json.loads(archive.read("model_judgment/Judge_single.jsonl").splitlines()[0])
    assert row["judge"][0] == "Judge"


def test_two_runs_are_compared_by_a_worker(client: APIClient, ground: Ground) -> None:
    first = done(ground.run("first", models="alpha"))
    ground.upstream.scripts["judge"] = Always("Rating: [[9]]")
    second = done(ground.run("second", models="alpha", options={"seed": 1}))
    address = f"{ROOT}compare/?first={first.pk}&second={second.pk}"
    waiting = client.get(address)
    assert (waiting.status_code, waiting.json()["state"]) == (202, "computing")
    run_pair_refresh(pair_id=RunPair.objects.get().pk)
    found = client.get(address).json()
    whole = found["differences"][0]
    assert (whole["first"], whole["difference"], whole["better"]) == ("Alpha", 7.5, 3)
    assert found["tests"] == len(found["differences"]) == 5
    assert found["changes"][0]["difference"] == 7.5
    assert client.get(f"{ROOT}compare/?first=first&second=second").json() == found
    assert client.get(f"{ROOT}compare/?first={first.pk}&second={first.pk}").status_code == 400
    assert client.get(f"{ROOT}compare/?first={first.pk}&second={second.pk}&first_model=x").status_code == 400


def test_question_sets_are_made_read_and_kept_whole(client: APIClient) -> None:
    rows = [{"question_id": 7, "category": "Math", "turns": ["2+2?", "And 3+3?"]}]
    given = {
        "slug": "own",
        "questions": rows,
        "reference_answers": [{"question_id": 7, "author": "me", "turns": ["4", "6"]}],
    }
    made = client.post("/api/v1/question-sets/", given, format="json")
    assert (made.status_code, made.json()["added"], made.json()["references"]) == (201, 1, 1)
    listed = client.get("/api/v1/question-sets/").json()["results"]
    assert ("own", 1, ["math"]) in [(row["slug"], row["questions"], row["categories"]) for row in listed]
    question = client.get("/api/v1/question-sets/own/").json()["results"][0]
    assert (question["turns"], question["references"][0]["turns"]) == (["2+2?", "And 3+3?"], ["4", "6"])
    bad = {"slug": "bad", "questions": [*rows, *rows]}
    refused = client.post("/api/v1/question-sets/", bad, format="json")
    assert "stands in the file twice" in refused.json()["error"]["message"]
    assert not QuestionSet.objects.filter(slug="bad").exists()
    assert client.get("/api/v1/question-sets/none/").status_code == 404


def test_the_published_votes_come_out_as_published(client: APIClient, shared_data: Path) -> None:
    file = SimpleUploadedFile("votes.csv", (shared_data / "mt_bench" / "human_vs_gpt4_votes.csv").read_bytes())
    made = client.post(f"{ROOT}votes/", {"name": "published", "file": file}, format="multipart")
    assert made.status_code == 201, made.json()
    report = client.get(f"{ROOT}votes/{made.json()['id']}/").json()["report"]
    found = {
        row["value"]: [row[ties][part] for ties in ("with_ties", "without_ties") for part in ("agreed", "of")]
        for row in report["rows"]
        if row["by"] == "turn"
    }
    assert found == {"1": [589, 882, 471, 549], "2": [590, 869, 486, 569]}
    assert report["votes"] == 882 + 869


def test_votes_are_deleted_by_their_owner(client: APIClient, api_client: MakeClient) -> None:
    file = SimpleUploadedFile("votes.csv", VOTES_HEAD + b"1,math,1,x,y,ann,model_a,j,model_a\n")
    made = client.post(f"{ROOT}votes/", {"name": "mine", "file": file}, format="multipart").json()
    address = f"{ROOT}votes/{made['id']}/"
    stranger = api_client(factories.user(), scopes=(Scope.READ, Scope.RUN))
    assert stranger.delete(address).status_code == 404
    assert client.delete(address).status_code == 204
    assert not VoteSet.objects.exists()


def test_votes_that_are_wrong_are_refused_with_their_line(client: APIClient, api_client: MakeClient) -> None:
    for data, says in (
        (b"a,b\n1,2\n", "line 1"),
        (b'{"question_id": 1}\n', "line 1"),
        (b"\xff\xfe", "UTF-8"),
        (b"[]", "no votes"),
        (b"x" * (FILE_MAX_BYTES + 1), "larger than 4 MiB"),
        (
            VOTES_HEAD + b"".join(b"1,math,1,x,y,p%d,model_a,j,model_a\n" % n for n in range(101)),
            "101 votes on one pair",
        ),
        (VOTES_HEAD + b"".join(b"%d,math,1,x,y,p,model_a,j,model_a\n" % n for n in range(20_001)), "more than 20,000"),
    ):
        file = SimpleUploadedFile("votes.csv", data)
        answer = client.post(f"{ROOT}votes/", {"name": "bad", "file": file}, format="multipart")
        assert answer.status_code == 400
        assert says in answer.json()["error"]["message"]
    assert not VoteSet.objects.exists()
    file = SimpleUploadedFile("votes.csv", b"x")
    person = api_client(factories.user(), scopes=(Scope.READ, Scope.RUN))
    assert person.post(f"{ROOT}votes/", {"name": "x", "file": file}, format="multipart").status_code == 403
