"""A set of any prompts: some questions are matched, some rated by a rubric, some judged as ever."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from evaluations.errors import QuestionsInvalid
from evaluations.estimating import estimate
from evaluations.fastchat.exporting import run_export
from evaluations.judge_prompts import judge_prompt_store
from evaluations.models import JudgePrompt, Question, Run
from evaluations.planning import plan_of
from evaluations.questions.loading import questions_import
from evaluations.reading.summaries import cells_of
from evaluations.selectors import scores_of, states_of
from evaluations.services import run_do
from tests.evaluations.scripted import Ground
from tests.fakes.scripts import Answer, Call

pytestmark = pytest.mark.django_db

RUBRIC = {"kind": "rubric", "criteria": [{"name": "clarity", "weight": 3}, {"name": "style"}], "high": 5}
ROWS = [
    {
        "turns": ["What is 6 by 7?"],
        "scorers": [{"kind": "numeric", "answer": 1}, {"kind": "contains", "answers": ["x"]}],
    },
    {"turns": ["One?", "Two?"], "scorers": [RUBRIC]},
    {"turns": ["Three?", "Four?"]},
    {"turns": ["Five?"], "scorers": [{"kind": "exact", "answers": ["Alpha 1"]}, {"kind": "judge"}]},
]


@dataclass
class Rates:
    """A judge by rubrics that forgets the form at first."""

    async def play(self, call: Call) -> None:
        is_reminded = len(call.request.messages) > 2
        await Answer("clarity: [[5]]\nstyle: [[1]]" if is_reminded else "Quite good.", seconds_a_token=0).play(call)


@pytest.fixture
def mixed(tiny: Ground, tmp_path: Path) -> Ground:
    tiny.upstream.scripts["rates"] = Rates()
    file = tmp_path / "question.jsonl"
    rows = [{"question_id": n, "category": "mixed", **row} for n, row in enumerate(ROWS, start=1)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    tiny.question_set = questions_import(source=str(file), slug="mixed").question_set
    return tiny


def do(run: Run) -> Run:
    run_do(run_id=run.pk, tell=lambda counts: None)
    run.refresh_from_db()
    return run


def test_each_question_is_scored_as_it_says(mixed: Ground) -> None:
    run = do(mixed.run(models="alpha", judges="rates"))
    rows = run.judgments.values_list("question__number", "turn", "judge__name", "prompt_name", "state", "score")
    # 1: one of two matches; 2: three quarters of the way from 1 to 10; the judge gives no plain rating at all.
    assert set(rows) == {
        (1, 1, None, "numeric", "ok", 10.0),
        (1, 1, None, "contains", "ok", 1.0),
        (2, 2, "Rates", "tourney-rubric", "ok", 7.75),
        (3, 1, "Rates", "tourney-single", "parse", None),
        (3, 2, "Rates", "tourney-single", "parse", None),
        (4, 1, None, "exact", "ok", 1.0),
        (4, 1, "Rates", "tourney-single", "parse", None),
    }
    assert len(scores_of(run)) == 4
    rubric = run.judgments.get(question__number=2)
    assert rubric.details["ratings"] == {"clarity": 5, "style": 1}
    assert "- clarity" in rubric.user_prompt
    assert run.judgments.get(question__number=4, judge=None).details["scorer"]["answers"] == ["Alpha 1"]


def test_a_match_is_no_judge_that_others_are_apart_from(mixed: Ground) -> None:
    run = do(mixed.run(models="alpha", judges="judge"))
    assert {row.score for row in run.judgments.filter(question__number=4)} == {1.0}
    run.judgments.filter(question__number=4, judge=None).update(score=10.0)
    mean, apart, has_failed = cells_of(run)["Alpha"][4][1]
    assert (mean, apart, has_failed) == (5.5, 0.0, False)


def test_a_second_start_scores_nothing_twice(mixed: Ground) -> None:
    run = do(mixed.run(models="alpha", judges="judge"))
    before = run.judgments.count(), len(mixed.upstream.requests)
    do(run)
    assert (run.judgments.count(), len(mixed.upstream.requests)) == before


def test_matches_cost_nothing_and_need_no_judge(mixed: Ground) -> None:
    Question.objects.filter(number__in=(2, 3)).delete()
    run = mixed.run(models="alpha beta", judges="")
    expected = estimate(plan_of(run))
    assert (expected.answers, expected.judgments, expected.matches) == (4, 0, 6)
    do(run)
    assert states_of(run) == {"ok": 6}
    assert not mixed.upstream.asked("judge")


def test_scorers_grade_alone_where_judges_compare(mixed: Ground) -> None:
    run = do(mixed.run(models="alpha beta", judges="rates", mode="pairwise-all"))
    pairs = run.judgments.exclude(model_b=None)
    assert set(pairs.values_list("question__number", flat=True)) == {3, 4}
    assert run.judgments.filter(model_b=None).count() == 2 * 4


def test_a_family_without_a_rubric_takes_ours(mixed: Ground) -> None:
    fields = {"kind": "single", "template": "{question} {answer}", "output_format": "[[rating]]"}
    judge_prompt_store(family="mine", name="mine", **fields)
    run = do(mixed.run(models="alpha", judges="rates", options={"prompts": "mine"}))
    assert set(run.judgments.exclude(judge=None).values_list("question__number", "prompt_name")) >= {
        (2, "tourney-rubric"),
        (4, "mine"),
    }
    assert JudgePrompt.objects.filter(family="mine").count() == 1


def test_scorers_go_out_and_come_in(mixed: Ground, tmp_path: Path) -> None:
    run_export(run=do(mixed.run(models="alpha", judges="")), folder=tmp_path / "out")
    report = questions_import(source=str(tmp_path / "out" / "question.jsonl"), slug="mixed")
    assert (report.added, report.changed, report.same) == (0, 0, 4)


@pytest.mark.parametrize(
    ("scorers", "message"),
    [
        ([{"kind": "exact", "answers": ["a"], "turn": 2}], "line 1: scorers: .*no turn 2"),
        ([{"kind": "regex", "pattern": "("}], "line 1: scorers: .*RE2"),
        ([{"kind": "exact", "answers": ["a\0"]}], "NUL"),
        ("exact", "line 1: scorers"),
    ],
)
def test_a_file_with_wrong_scorers_is_refused_with_its_line(tmp_path: Path, scorers: object, message: str) -> None:
    file = tmp_path / "question.jsonl"
    file.write_text(json.dumps({"question_id": 1, "category": "x", "turns": ["Why?"], "scorers": scorers}))
    with pytest.raises(QuestionsInvalid, match=message):
        questions_import(source=str(file), slug="wrong")
    assert not Question.objects.filter(question_set__slug="wrong").exists()


def test_the_admin_names_what_is_wrong_with_scorers(mixed: Ground) -> None:
    question = Question(question_set=mixed.question_set, number=9, category="x", turns=["Why?"])
    question.scorers = [{"kind": "exact", "answers": ["a"], "turn": 2}]
    with pytest.raises(ValidationError, match="no turn 2"):
        question.full_clean()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "single", "output_format": "[[criterion ratings]]"}, "only theirs"),
        ({"kind": "rubric", "output_format": "[[rating]]"}, "only theirs"),
        ({"kind": "single", "output_format": "[[rating]]", "template": "{conversation} {criteria}"}, "Only a rubric"),
    ],
)
def test_a_prompt_that_could_not_be_filled_in_is_refused(fields: dict[str, str], message: str) -> None:
    prompt = JudgePrompt(**{"family": "mine", "name": "mine", "template": "{conversation}"} | fields)
    with pytest.raises(ValidationError, match=message):
        prompt.full_clean()
