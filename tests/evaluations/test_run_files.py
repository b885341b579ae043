"""A whole run as FastChat's files: mixed sets, several choices and pairs come back as they left; and the ZIP leaves in
pieces."""

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from evaluations.errors import QuestionsInvalid
from evaluations.fastchat.exporting import run_export, run_zip
from evaluations.fastchat.importing import run_import
from evaluations.models import JudgePrompt, Judgment, Run
from evaluations.scored import scorers_of
from evaluations.scoring import games_table, scores_table
from evaluations.selectors import games_of, scores_of
from evaluations.services import judge_prompts_seed, run_do
from tests.evaluations.scripted import Always, Ground

pytestmark = pytest.mark.django_db

RUBRIC = {"kind": "rubric", "criteria": [{"name": "clarity"}], "turn": 1}
EXACT = {"kind": "exact", "answers": ["alpha 2"]}


def done(run: Run) -> Run:
    run_do(run_id=run.pk, tell=lambda counts: None)
    run.refresh_from_db()
    return run


def again(run: Run, folder: Path) -> Run:
    run_export(run=run, folder=folder)
    return Run.objects.get(pk=run_import(folder=folder, name=f"{run.name}-again", owner=run.owner).run.pk)


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def said(run: Run) -> list[tuple[Any, ...]]:
    """Every judgment, without what belongs to this server."""
    names = ("question__number", "judge__name", "model_a__name", "model_b__name", "choice", "turn", "game", "scorer")
    return sorted(run.judgments.values_list(*names, "state", "score", "winner", "prompt_name"), key=str)


def test_a_mixed_set_comes_back_with_its_matches_and_ratings(tiny: Ground, tmp_path: Path) -> None:
    tiny.upstream.scripts["rates"] = Always("clarity: [[4]] Rating: [[6]]")
    tiny.question_set.questions.filter(number=1).update(scorers=[RUBRIC, EXACT])
    run = done(tiny.run(judges="rates", options={"choices": 2}))
    found = again(run, tmp_path)
    assert said(found) == said(run)
    assert scorers_of(found) == scorers_of(run)
    assert scores_table(scores_of(found)) == scores_table(scores_of(run))
    assert found.judges.get().name == "Rates"
    matched = rows(tmp_path / "model_judgment" / "scorers_single.jsonl")
    assert {(row["model"], row["score"], row["judge"][1]) for row in matched} == {
        ("Alpha", 10, "exact"),
        ("Beta", 1, "exact"),
    }
    rated = [one.details["ratings"] for one in found.judgments.exclude(judge=None) if one.details]
    assert rated == [{"clarity": 4}] * 4


def test_our_prompts_come_back_as_ours_and_others_stay_apart(tiny: Ground, tmp_path: Path) -> None:
    run = done(tiny.run())
    before = set(JudgePrompt.objects.values_list("family", "name", "version"))
    found = again(run, tmp_path)
    assert set(JudgePrompt.objects.values_list("family", "name", "version")) == before
    assert {one.prompt.family for one in found.judgments.select_related("prompt") if one.prompt} == {"tourney"}
    file = tmp_path / "judge_prompts.jsonl"
    changed = [row | {"prompt_template": row["prompt_template"] + " Be kind."} for row in rows(file)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in changed))
    run_import(folder=tmp_path, name="others", owner=run.owner)
    assert set(JudgePrompt.objects.exclude(family="tourney").values_list("family", flat=True)) == {"imported"}
    assert judge_prompts_seed() == 0, "no file has changed how judges are asked here"


def test_pairs_have_fastchats_shape_and_come_back(tiny: Ground, tmp_path: Path) -> None:
    run = done(tiny.run(models="alpha beta mute", mode="pairwise-baseline", baseline=tiny.model("beta")))
    found = again(run, tmp_path)
    assert said(found) == said(run)
    assert games_table(games_of(found)) == games_table(games_of(run))
    assert (found.mode, found.baseline) == (Run.Mode.BASELINE, run.baseline)
    first = rows(tmp_path / "model_judgment" / "Judge_pair.jsonl")[0]
    assert list(first) == [
        "question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge", "g1_user_prompt", "g1_judgment",
        "g2_user_prompt", "g2_judgment", "turn", "tstamp",
    ]  # fmt: skip
    every = done(tiny.run("every", models="alpha beta mute", mode="pairwise-all"))
    assert again(every, tmp_path / "every").mode == Run.Mode.ALL


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judge": ["scorers", "regex"]}, "line 1: judge: question 1 has no such scorer at place 1"),
        ({"scorer": 7}, "no such scorer at place 7"),
        ({"judge": ["J", "x"], "ratings": {"clarity": 9}, "scorer": 0}, "ratings: each criterion needs one"),
        ({"judge": ["J", "x"], "ratings": {"style": 2}, "scorer": 0}, "ratings: each criterion needs one"),
        ({"judge": ["J", "x"], "ratings": {"clarity": 2}}, "no rubric at place 1"),
    ],
)
def test_a_match_or_rating_that_its_question_does_not_know_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    question = {"question_id": 1, "category": "a", "turns": ["One?", "Two?"], "scorers": [RUBRIC, EXACT]}
    (tmp_path / "question.jsonl").write_text(json.dumps(question))
    (tmp_path / "model_judgment").mkdir()
    row = {"question_id": 1, "model": "x", "judge": ["scorers", "exact"], "scorer": 1, "turn": 2, "score": 10}
    (tmp_path / "model_judgment" / "x_single.jsonl").write_text(json.dumps(row | change))
    from tests import factories

    with pytest.raises(QuestionsInvalid, match=message):
        run_import(folder=tmp_path, name="wrong", owner=factories.user())
    assert not Run.objects.exists()


def test_the_archive_is_the_folder(tiny: Ground, tmp_path: Path) -> None:
    run = done(tiny.run(judges="judge beta"))
    paths = run_export(run=run, folder=tmp_path)
    with zipfile.ZipFile(io.BytesIO(b"".join(run_zip(run)))) as archive:
        assert archive.testzip() is None
        assert sorted(archive.namelist()) == sorted(path.relative_to(tmp_path).as_posix() for path in paths)
        for path in paths:
            assert archive.read(path.relative_to(tmp_path).as_posix()) == path.read_bytes()
        assert all(entry.compress_type == zipfile.ZIP_DEFLATED for entry in archive.infolist())


def test_the_archive_of_a_large_run_is_never_whole_in_memory(tiny: Ground) -> None:
    """12,000 judgments of 2,000 characters: 24 MB of text, packed in pieces while a few are in memory."""
    run = tiny.run(models="alpha", judges="judge")
    questions = list(tiny.question_set.questions.all())
    judge, alpha = tiny.model("judge"), tiny.model("alpha")
    text = "".join(chr(97 + (number * number) % 26) for number in range(2000))
    Judgment.objects.bulk_create(
        (
            Judgment(
                run=run, question=questions[number % 3], judge=judge, model_a=alpha, turn=1, repeat=number // 3 % 30,
                choice=number // 90, prompt_name="x", text=f"{number} {text}", state="ok", score=5,
                finished_at=timezone.now(),
            )
            for number in range(12_000)
        ),
        batch_size=500,
    )  # fmt: skip
    tracemalloc.start()
    pieces = [len(piece) for piece in run_zip(run)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(pieces) > 10
    assert max(pieces) < 300_000
    assert peak < 40_000_000, "a question has a third of the rows"
