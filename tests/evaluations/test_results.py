"""What a run says in the end: documents, the terminal, Python."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evaluations import api
from evaluations.fastchat.importing import run_import
from evaluations.models import Run
from evaluations.reports.tables import as_csv, as_markdown
from evaluations.results import comparison, results
from evaluations.services import run_do, run_export
from tests import factories
from tests.evaluations.scripted import Always, Ground
from tests.fakes.scripts import Failure

pytestmark = pytest.mark.django_db


@pytest.fixture
def command(tiny: Ground, capsys: pytest.CaptureFixture[str]) -> Ground:
    """Models that the command may name."""
    for name in ("alpha", "beta", "judge"):
        tiny.model(name)
    return tiny


def mtbench(*arguments: str) -> None:
    call_command("mtbench", *arguments)


def test_the_document_has_the_keys_that_people_know(tiny: Ground) -> None:
    run = tiny.run(judges="judge beta")
    run_do(run_id=run.pk, tell=lambda counts: None)
    document = json.loads(json.dumps(results(run), allow_nan=False))
    (first, second) = document["model_results"]
    assert {first["model_name"], second["model_name"]} == {"Alpha", "Beta"}
    assert first["overall_score"]["mean"] == pytest.approx(1.5)
    assert set(first["category_breakdown"]) == {"math", "writing"}
    assert document["comparison"]["overall_ranking"][0]["score"] == first["overall_score"]["mean"]
    assert document["self_judged"] == ["Beta"]
    assert document["judgment_states"] == {"ok": 12, "parse": 12}


def test_games_have_win_rates_ratings_and_the_judges_biases(tiny: Ground) -> None:
    run = tiny.run(judges="judge biased", mode="pairwise-all")
    run_do(run_id=run.pk, tell=lambda counts: None)
    document = results(run)
    assert document["comparison"]["win_rates"][0]["model"] == "Beta"
    assert document["comparison"]["bradley_terry"][0]["model"] == "Beta"
    assert document["judges"]["each"]["Biased"]["first_shown_share"] == 1.0
    assert document["judges"]["each"]["Biased"]["flipped_share"] == 1.0
    assert document["judges"]["each"]["Judge"]["flipped_share"] == 0.0


def test_a_run_of_hostile_names_makes_clean_files(tiny: Ground) -> None:
    model = tiny.model("alpha")
    model.name = "=1+1|<script>"
    model.save()
    run = tiny.run(models="alpha")
    run_do(run_id=run.pk, tell=lambda counts: None)
    document = results(run)
    assert "'=1+1" in "".join(as_csv(document))
    assert "\\|\\<script\\>" in as_markdown(document)


def test_a_run_goes_out_and_comes_in_with_the_same_tables(tiny: Ground, tmp_path: Path) -> None:
    run = tiny.run()
    run_do(run_id=run.pk, tell=lambda counts: None)
    run_export(run=run, folder=tmp_path)
    again = run_import(folder=tmp_path, name="again", owner=run.owner).run
    assert results(again)["comparison"] == results(run)["comparison"]
    for before, after in zip(results(run)["model_results"], results(again)["model_results"], strict=True):
        assert before["overall_score"] == after["overall_score"]


def test_two_runs_are_compared_on_what_both_asked(tiny: Ground) -> None:
    first = tiny.run("first", models="alpha")
    run_do(run_id=first.pk, tell=lambda counts: None)
    tiny.upstream.scripts["judge"] = Always("Rating: [[9]]")
    second = tiny.run("second", models="alpha", options={"seed": 1})
    run_do(run_id=second.pk, tell=lambda counts: None)
    (row,) = comparison(first, second)
    assert (row["first"], row["difference"], row["is_significant"]) == ("Alpha", 7.5, True)


def test_the_command_runs_to_a_table_and_files(
    command: Ground, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mtbench("--models", "alpha", "beta", "--judge-model", "judge", "--output-dir", str(tmp_path), "--name", "mine")
    out = capsys.readouterr().out
    assert "Alpha" in out
    assert "1.50" in out
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"results.json", "scores.csv", "summary.md", "charts/categories.svg", "fastchat/question.jsonl"} <= names
    assert "| 1 | Alpha |" in (tmp_path / "summary.md").read_text()


def test_the_command_says_what_is_missing_and_asks_again(command: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    works = command.upstream.scripts["judge"]
    command.upstream.scripts["judge"] = Failure("400 Bad Request")
    with pytest.raises(SystemExit) as end:
        mtbench("--models", "alpha", "--judge-model", "judge", "--max-questions", "2", "--name", "mine")
    assert end.value.code == 3
    assert "4 verdicts are missing" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        mtbench("--resume", "--name", "mine")  # does nothing, and still says so
    assert end.value.code == 3
    command.upstream.scripts["judge"] = works
    mtbench("--retry-failed", "--name", "mine")
    assert len(command.upstream.asked("alpha")) == 4
    mtbench("--resume", "--models", "beta")
    assert Run.objects.get().answers.count() == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--list-models"),
        (("--models", "nobody", "--judge-model", "judge"), "no model nobody"),
        (("--models", "alpha", "--judge-model", "judge", "--set", "none"), "no question set none"),
        (("--resume",), "no such run"),
    ],
)
def test_the_command_refuses_in_words(command: Ground, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        mtbench(*arguments)


def test_the_command_lists_and_estimates(command: Ground, capsys: pytest.CaptureFixture[str]) -> None:
    mtbench("--list-models")
    assert "alpha  Alpha" in capsys.readouterr().out
    mtbench("--models", "alpha", "--judge-model", "judge", "--estimate")
    assert "6 answers, 6 judgments" in capsys.readouterr().err
    assert not command.upstream.requests


def test_a_notebook_gets_rows_and_a_document(tiny: Ground, tmp_path: Path) -> None:
    run = tiny.run()
    run_do(run_id=run.pk, tell=lambda counts: None)
    found = api.Results(run)
    assert len(found.scores) == 12
    assert set(found.scores[0]) == {"model", "question", "category", "turn", "score"}
    assert found.games == []
    assert set(found.figures) == {"overall", "categories", "questions", "turns", "spread"}
    assert api.free_name() == "run-2"
    assert api.owner() == api.owner()
    factories.user()


@pytest.mark.django_db(transaction=True)
async def test_a_notebook_runs_and_reads_within_its_event_loop(command: Ground, tmp_path: Path) -> None:
    found = await api.run_evaluation(models=["alpha"], judges=["judge"], max_questions=2)
    assert [row["score"] for row in sorted(found.scores, key=lambda row: (row["question"], row["turn"]))] == [
        1,
        2,
        1,
        2,
    ]
    assert found.document["comparison"]["overall_ranking"][0]["model"] == "Alpha"
    assert tmp_path / "results.json" in await found.asave(tmp_path)
