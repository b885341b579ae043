"""FastChat's files come in, give FastChat's figures, and go out again as they were."""

import json
from pathlib import Path

import pytest

from evaluations.errors import QuestionsInvalid
from evaluations.fastchat.exporting import run_export
from evaluations.fastchat.importing import RunReport, run_import
from evaluations.models import Judgment, Question, QuestionSet, Run
from evaluations.questions.loading import DOUBTED, questions_import
from evaluations.scoring import games_table, orders, scores_table
from evaluations.selectors import games_of, scores_of
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def imported(shared_data: Path) -> RunReport:
    return run_import(folder=shared_data / "mt_bench", name="official", owner=factories.user())


def tables(run: Run) -> object:
    return scores_table(scores_of(run)), games_table(games_of(run)), orders(games_of(run))


def test_the_published_judgments_give_the_published_figures(imported: RunReport) -> None:
    assert imported.questions.doubted == sorted(DOUBTED)
    assert (imported.answers, imported.judgments) == (320, 310)
    (line,) = scores_table(scores_of(imported.run))
    assert (line.model, line.overall.mean, line.overall.count) == ("phi-3-dpo", 8.2, 160)
    assert len(line.categories) == 8
    found = orders(games_of(imported.run))
    assert (found.consistent, found.flipped, found.half_ties, found.errors) == (46, 18, 9, 2)


def test_what_goes_out_comes_in_with_the_same_tables(imported: RunReport, tmp_path: Path, shared_data: Path) -> None:
    run_export(run=imported.run, folder=tmp_path)
    again = run_import(folder=tmp_path, name="again", owner=imported.run.owner)
    assert tables(again.run) == tables(imported.run)
    for name in ("question.jsonl", "model_judgment/gpt-4_single.jsonl", "model_judgment/gpt-4_pair.jsonl"):
        before, after = (
            sorted(json.dumps(json.loads(line), sort_keys=True) for line in (folder / name).read_text().splitlines())
            for folder in (shared_data / "mt_bench", tmp_path)
        )
        stamps = [[json.loads(line).pop("tstamp", 0) for line in lines] for lines in (before, after)]
        assert stamps[0] == pytest.approx(stamps[1], abs=1e-5)
        assert [without_time(line) for line in before] == [without_time(line) for line in after], name


def without_time(line: str) -> dict[str, object]:
    row: dict[str, object] = json.loads(line)
    row.pop("tstamp", None)
    return row


def test_a_second_import_adds_nothing(imported: RunReport, shared_data: Path) -> None:
    again = run_import(folder=shared_data / "mt_bench", name="official", owner=imported.run.owner)
    assert (again.new_answers, again.new_judgments, again.questions.same) == (0, 0, 80)
    assert again.questions.references == 0


def write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


GOOD = {"question_id": 1, "category": "math", "turns": ["What is 1 + 1?", "And doubled?"]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([GOOD, GOOD], "line 2: question_id: question 1 stands in the file twice"),
        ([{"question_id": 1, "category": "math"}], "line 1: turns must be a list"),
        ([GOOD | {"turns": ["What?", " "]}], "line 1: turns: turn 2 is empty"),
        ([GOOD | {"turns": ["What?", 7]}], "line 1: each of turns must be a text"),
        ([GOOD | {"category": ""}], "line 1: category must have 1 to 32 characters"),
        ([GOOD | {"question_id": "x"}], "line 1: question_id must be a whole number"),
        ([[1]], "line 1"),
        ([], "no question"),
    ],
)
def test_a_broken_question_file_is_refused_with_its_line(rows: list[object], message: str, tmp_path: Path) -> None:
    with pytest.raises(QuestionsInvalid, match=message):
        questions_import(source=str(write(tmp_path / "question.jsonl", *rows)), slug="mine")
    assert not QuestionSet.objects.exists()


def test_questions_may_have_any_number_of_turns_and_any_category(tmp_path: Path) -> None:
    row = {"question_id": 5, "category": "Limericks", "turns": ["One", "Two", "Three"]}
    questions_import(source=str(write(tmp_path / "question.jsonl", row)), slug="mine")
    assert Question.objects.get().category == "limericks"


SINGLE = {"question_id": 1, "model": "x", "judge": ["j", "single-v1"], "score": 7, "turn": 1, "judgment": "Good."}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": 12}, "score must be"),
        ({"score": "7"}, "score must be a number"),
        ({"question_id": 9}, "no question 9"),
        ({"judge": "gpt-4"}, "judge must name"),
        ({"model": ""}, "name of a model"),
    ],
)
def test_a_broken_judgment_keeps_nothing(change: dict[str, object], message: str, tmp_path: Path) -> None:
    write(tmp_path / "question.jsonl", GOOD)
    write(tmp_path / "model_judgment" / "j_single.jsonl", SINGLE, SINGLE | change)
    with pytest.raises(QuestionsInvalid, match=message):
        run_import(folder=tmp_path, name="broken", owner=factories.user())
    assert not Run.objects.exists()


def test_a_missing_score_is_in_no_mean_and_goes_out_as_minus_one(tmp_path: Path) -> None:
    write(tmp_path / "question.jsonl", GOOD)
    write(tmp_path / "model_judgment" / "j_single.jsonl", SINGLE, SINGLE | {"turn": 2, "score": -1})
    run = run_import(folder=tmp_path, name="gaps", owner=factories.user()).run
    assert scores_table(scores_of(run))[0].overall.mean == 7
    assert Judgment.objects.get(turn=2).state == "parse"
    run_export(run=run, folder=tmp_path / "out")
    lines = (tmp_path / "out" / "model_judgment" / "j_single.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["score"] for line in lines) == [-1, 7]
