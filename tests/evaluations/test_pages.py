"""The pages of evaluations: for who may see a run, safe with hostile answers, and honest while it is under way."""

import csv
import json

import pytest
from django.test import Client
from django.urls import reverse

from accounts import jobs
from common.text import counted
from evaluations.models import Run
from evaluations.services import run_do, run_start, votes_import
from evaluations.templatetags.evaluations import duration
from leaderboard.models import Comparison
from tests import factories
from tests.evaluations.scripted import Always, Ground

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(factories.staff())
    return client


def page(client: Client, name: str, *arguments: object) -> str:
    answer = client.get(reverse(f"evaluations:{name}", args=arguments))
    assert answer.status_code == 200
    return answer.content.decode()


def done(run: Run) -> Run:
    run_do(run_id=run.pk, tell=lambda counts: None)
    run.refresh_from_db()
    return run


def test_without_runs_the_first_is_offered(admin: Client) -> None:
    assert "Start the first one" in page(admin, "index")


def test_a_finished_run_shows_tables_matrix_charts_and_files(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run(judges="judge beta"))
    text = page(admin, "detail", run.pk)
    assert "1.50" in text
    assert "judged themselves" in text
    assert text.count("<svg") >= 6
    assert run.name in page(admin, "index")
    for ending in ("json", "csv", "md"):
        assert "Alpha" in page(admin, "table", run.pk, ending)
    assert "<svg" in page(admin, "chart", run.pk, "categories", "svg")
    assert admin.get(reverse("evaluations:chart", args=(run.pk, "radar", "svg"))).status_code == 404, "two categories"
    for wrong in (("chart", run.pk, "none", "svg"), ("chart", run.pk, "categories", "exe"), ("table", run.pk, "exe")):
        assert admin.get(reverse(f"evaluations:{wrong[0]}", args=wrong[1:])).status_code == 404


def test_scorers_are_shown_and_a_set_of_them_needs_no_judge(admin: Client, tiny: Ground) -> None:
    rubric = {"kind": "rubric", "criteria": [{"name": "clarity"}], "turn": 1}
    tiny.upstream.scripts["rates"] = Always("clarity: [[4]]")
    tiny.question_set.questions.filter(number=1).update(scorers=[rubric, {"kind": "contains", "answers": ["alpha"]}])
    run = done(tiny.run(judges="rates", options={"max_questions": 1}))
    text = page(admin, "detail", run.pk)
    assert "1 of 1, 100.0%" in text
    assert "4.00 of 5, 1 rating<" in text
    text = page(admin, "question", run.pk, 1)
    assert "clarity: 4" in text
    assert "contains: 10" in text
    assert "clarity: 4" not in page(admin, "table", run.pk, "html")
    wanted = {"name": "new", "question_set": "tiny", "models": ["alpha"], "mode": "single", "estimate": "1"}
    refused = admin.post(reverse("evaluations:new"), wanted)
    assert (refused.status_code, b"needs a judge" in refused.content) == (400, True)
    tiny.question_set.questions.update(scorers=[{"kind": "exact", "answers": ["alpha 2"]}])
    assert "Matches, at no cost" in admin.post(reverse("evaluations:new"), wanted).content.decode()


def test_question_sets_are_read_by_category_with_their_references(
    client: Client, tiny: Ground, django_assert_max_num_queries: object
) -> None:
    tiny.question_set.questions.filter(number=2).update(
        turns=["<script>alert(1)</script>"], scorers=[{"kind": "exact", "answers": ["x"]}]
    )
    client.force_login(factories.user())
    assert "Tiny" in page(client, "sets")
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        text = page(client, "set", "tiny")
    assert all(words in text for words in ("Question 1?", "Again forty-two.", "by somebody", "exact"))
    assert "<script>alert" not in text
    address = reverse("evaluations:set", args=("tiny",))
    assert "Question 1?" not in client.get(f"{address}?category=writing").content.decode()
    assert client.get(reverse("evaluations:set", args=("none",))).status_code == 404


def test_games_are_shown_with_the_judges_biases(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run(judges="biased", mode="pairwise-all"))
    text = page(admin, "detail", run.pk)
    assert "Flipped by order" in text
    assert "100.0%" in text
    assert "Tokens a second" in text, "how models answered is shown though nothing was graded"
    for ending in ("md", "html"):
        assert "Tokens a second" in page(admin, "table", run.pk, ending)
    (alpha,) = [
        row for row in csv.DictReader(page(admin, "table", run.pk, "csv").splitlines()) if row["model"] == "Alpha"
    ]
    assert (alpha["answers"], alpha["failed"], alpha["refusals"]) == ("6", "0", "0")
    assert "swapped" in page(admin, "question", run.pk, 1)


def test_answers_stand_side_by_side_with_what_judges_said(admin: Client, tiny: Ground) -> None:
    tiny.upstream.scripts["alpha"] = Always("<script>alert(1)</script> **bold**")
    run = done(tiny.run())
    text = page(admin, "question", run.pk, 1)
    assert "<script>alert" not in text
    assert "<strong>bold</strong>" in text
    assert "I have read both" in text
    assert "Forty-two." in text
    assert admin.get(reverse("evaluations:question", args=(run.pk, 99))).status_code == 404


def test_a_run_is_for_its_owner_and_administrators(client: Client, tiny: Ground) -> None:
    run = tiny.run()
    client.force_login(factories.user())
    for name, more in (("detail", ()), ("question", (1,)), ("table", ("json",)), ("chart", ("radar", "svg"))):
        assert client.get(reverse(f"evaluations:{name}", args=(run.pk, *more))).status_code == 404
    assert client.get(reverse("evaluations:new")).status_code == 403
    assert client.post(reverse("evaluations:act", args=(run.pk, "cancel"))).status_code == 403
    client.force_login(tiny.owner)
    assert run.name in page(client, "index")
    page(client, "detail", run.pk)


def form(**fields: object) -> dict[str, object]:
    usual = {"name": "mine", "question_set": "tiny", "models": ["alpha", "beta"], "judges": ["judge"], "mode": "single"}
    return usual | fields


def test_the_form_estimates_without_keeping_anything_and_then_starts(admin: Client, tiny: Ground) -> None:
    for name in ("alpha", "beta", "judge"):
        tiny.model(name)
    address = reverse("evaluations:new")
    text = admin.post(address, form(estimate="1")).content.decode()
    assert "What it would take" in text
    assert "<dd>12</dd>" in text
    assert not Run.objects.exists()
    answer = admin.post(address, form(start="1"))
    run = Run.objects.get()
    assert answer.headers["Location"] == reverse("evaluations:detail", args=(run.pk,))
    text = page(admin, "detail", run.pk)
    assert "data-busy" in text
    assert "Cancel" in text
    assert run.job_id is not None
    jobs.job_run(job_id=run.job_id)
    assert "data-busy" not in page(admin, "detail", run.pk)


def test_the_form_says_what_is_wrong(admin: Client, tiny: Ground) -> None:
    for name in ("alpha", "beta", "judge"):
        tiny.model(name)
    address = reverse("evaluations:new")
    answer = admin.post(address, form(start="1", mode="pairwise-baseline"))
    assert answer.status_code == 400
    assert "Name a baseline" in answer.content.decode()
    assert "required" in admin.post(address, form(start="1", models=[])).content.decode()
    tiny.run("mine")
    assert "run of this name" in admin.post(address, form(start="1")).content.decode()


def test_a_run_is_cancelled_resumed_and_tried_again_from_its_page(admin: Client, tiny: Ground) -> None:
    run = run_start(run=tiny.run())
    for action, status in (("cancel", "cancelled"), ("resume", "queued"), ("cancel", "cancelled"), ("retry", "queued")):
        admin.post(reverse("evaluations:act", args=(run.pk, action)))
        run.refresh_from_db()
        assert run.status == status, action
    assert admin.post(reverse("evaluations:act", args=(run.pk, "explode"))).status_code == 404


def test_a_page_of_many_cells_asks_few_questions(
    admin: Client, tiny: Ground, django_assert_max_num_queries: object
) -> None:
    run = done(tiny.run())
    with django_assert_max_num_queries(40):  # type: ignore[operator]
        page(admin, "detail", run.pk)


def test_a_run_that_is_whole_offers_nothing_to_be_done_again(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run())
    text = page(admin, "detail", run.pk)
    assert "Do what is missing" not in text
    assert "Ask again what failed" not in text
    tiny.question_set.questions.create(number=9, category="math", turns=["New?"])
    assert "Do what is missing" in page(admin, "detail", run.pk), "its question set has grown"
    failed = done(tiny.run("failed", models="alpha mute", judges="vague"))
    text = page(admin, "detail", failed.pk)
    assert "Ask again what failed" in text
    assert "answers failed and were not judged" in text
    cancelled = tiny.run("cancelled")
    Run.objects.filter(pk=cancelled.pk).update(status=Run.Status.CANCELLED)
    assert "Do what is missing" in page(admin, "detail", cancelled.pk)


def test_models_and_judges_are_added_to_a_run_that_is_over(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run(models="alpha"))
    for name in ("beta", "vague"):
        tiny.model(name)
    address = reverse("evaluations:extend", args=(run.pk,))
    text = admin.get(address).content.decode()
    assert 'value="beta"' in text
    assert text.count('value="alpha"') == 1, "it is a model of the run already, and may still judge"
    assert b"Choose a model or a judge" in admin.post(address, {}).content
    answer = admin.post(address, {"models": ["beta"]})
    assert answer.headers["Location"] == reverse("evaluations:detail", args=(run.pk,))
    busy = admin.post(address, {"judges": ["vague"]})
    assert (busy.status_code, b"under way" in busy.content) == (400, True)
    run.refresh_from_db()
    assert run.job_id is not None
    jobs.job_run(job_id=run.job_id)
    assert set(run.answers.values_list("model__slug", flat=True)) == {"alpha", "beta"}
    Run.objects.filter(pk=run.pk).update(status=Run.Status.IMPORTED)
    assert admin.get(address).status_code == 404
    admin.force_login(tiny.owner)
    assert admin.get(address).status_code == 403


def test_a_run_is_deleted_with_what_its_judges_said_of_pairs(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run(mode="pairwise-all"))
    assert Comparison.objects.counted().count() == 6
    busy = run_start(run=tiny.run("busy"))
    admin.post(reverse("evaluations:delete", args=(busy.pk,)))
    assert Run.objects.count() == 2
    assert "Delete this run" in page(admin, "detail", run.pk)
    answer = admin.post(reverse("evaluations:delete", args=(run.pk,)), follow=True)
    assert "small is deleted" in answer.content.decode()
    assert list(Run.objects.all()) == [busy]
    assert not Comparison.objects.counted().exists()
    admin.force_login(tiny.owner)
    assert admin.post(reverse("evaluations:delete", args=(busy.pk,))).status_code == 403


def test_a_run_is_taken_away_as_a_zip_from_its_page(admin: Client, tiny: Ground) -> None:
    run = done(tiny.run())
    address = reverse("api_evaluation_export", args=(run.pk,))
    assert f'href="{address}"' in page(admin, "detail", run.pk)
    assert admin.get(address).headers["Content-Disposition"] == 'attachment; filename="small.zip"'


def test_words_fit_their_numbers(admin: Client, tiny: Ground) -> None:
    vote = {"question_id": 1, "model_a": "Beta", "model_b": "Alpha", "winner": "tie", "judge": "ann", "turn": 1}
    vote_set = votes_import(owner=tiny.owner, name="one", data=json.dumps(vote).encode())
    text = " ".join(page(admin, "vote_set", vote_set.pk).split())
    assert "1 vote of 1 person" in text
    assert "Delete “one”" in text
    assert counted(1, "match", "matches") == "1 match"
    assert [counted(1, "answer"), counted(1000, "answer"), counted(2, "match", "matches")] == [
        "1 answer", "1,000 answers", "2 matches",
    ]  # fmt: skip
    assert [duration(seconds) for seconds in (45, 700, 9000)] == ["45 s", "12 min", "2 h"]
