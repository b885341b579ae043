"""A run as FastChat's files: the folder that FastChat's own tools, and `run_import`, read."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from evaluations.importing import ERROR_OUTPUT, NO_SCORE, NO_WINNER
from evaluations.models import Answer, JudgePrompt, Judgment, Run
from evaluations.selectors import judgments_under
from evaluations.verdicts import State, Winner
from providers.models import GeneratedText

WINNERS = {Winner.A.value: "model_1", Winner.B.value: "model_2", Winner.TIE.value: "tie"}
UNSAFE = str.maketrans(dict.fromkeys('/\\:*?"<>|\x00', "_"))


def run_export(*, run: Run, folder: Path) -> list[Path]:
    """Write a folder in FastChat's layout; return its files. What is there under the same names is written anew."""
    written = [_write(folder / "question.jsonl", _questions(run))]
    references = _references(run)
    for author in sorted(references):
        written.append(_write(folder / "reference_answer" / f"{_safe(author)}.jsonl", references[author]))
    prompts = JudgePrompt.objects.filter(pk__in=run.judgments.values("prompt")).order_by("name", "version")
    if prompts:
        written.append(_write(folder / "judge_prompts.jsonl", map(_prompt, prompts)))
    for model in run.contenders.order_by("name"):
        rows = run.answers.filter(model=model).order_by("question__number", "choice", "turn")
        if rows.exists():
            path = folder / "model_answer" / f"{_safe(model.name)}.jsonl"
            written.append(_write(path, _answers(rows.select_related("question"), model.name)))
    for judge in run.judges.order_by("name"):
        judged = judgments_under(run).filter(judge=judge).select_related("question", "model_a", "model_b")
        for kind, rows_of, chosen in (
            ("single", _single, judged.filter(model_b=None)),
            ("pair", _pairs, judged.exclude(model_b=None)),
        ):
            if chosen.exists():
                path = folder / "model_judgment" / f"{_safe(judge.name)}_{kind}.jsonl"
                order = ("question__number", "model_a__name", "model_b__name", "choice", "turn", "repeat", "game")
                written.append(_write(path, rows_of(chosen.order_by(*order).iterator(), judge.name)))
    return written


def _write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


def _safe(name: str) -> str:
    return name.translate(UNSAFE).lstrip(".") or "_"


def _questions(run: Run) -> Iterator[dict[str, Any]]:
    for question in run.question_set.questions.all():
        row = {"question_id": question.number, "category": question.category, "turns": question.turns}
        more = {"reference": question.hints, "scorers": question.scorers}
        yield row | {name: value for name, value in more.items() if value}


def _references(run: Run) -> dict[str, list[dict[str, Any]]]:
    """The newest reference of each question, by who wrote it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for question in run.question_set.questions.prefetch_related("references"):
        for reference in question.references.all()[:1]:
            row = {
                "question_id": question.number,
                "answer_id": f"{question.number}-{reference.version}",
                "model_id": reference.author,
                "choices": [{"index": 0, "turns": reference.turns}],
                "tstamp": reference.created_at.timestamp(),
            }
            found.setdefault(reference.author, []).append(row)
    return found


def _prompt(prompt: JudgePrompt) -> dict[str, Any]:
    return {
        "name": prompt.name,
        "type": "single" if prompt.kind == JudgePrompt.Kind.SINGLE else "pairwise",
        "system_prompt": prompt.system_prompt,
        "prompt_template": prompt.template,
        "description": prompt.description,
        "category": prompt.category,
        "output_format": prompt.output_format,
    }


def _answers(rows: Iterable[Answer], model: str) -> Iterator[dict[str, Any]]:
    for question, of_question in groupby(rows, key=lambda row: row.question):
        choices, last = [], None
        for index, of_choice in groupby(of_question, key=lambda row: row.choice):
            turns = list(of_choice)
            last = turns[-1]
            choices.append({"index": index, "turns": [_said(turn) for turn in turns]})
        assert last is not None
        yield {
            "question_id": question.number,
            "answer_id": last.answer_id or f"{last.pk}",
            "model_id": model,
            "choices": choices,
            "tstamp": _stamp(last),
        }


def _said(answer: Answer) -> str:
    return answer.text if answer.status == GeneratedText.Status.FINISHED else ERROR_OUTPUT


def _stamp(row: GeneratedText) -> float:
    return row.finished_at.timestamp() if row.finished_at else 0.0


def _single(rows: Iterable[Judgment], judge: str) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield {
            "question_id": row.question.number,
            "model": row.model_a.name,
            "judge": [judge, row.prompt_name],
            "user_prompt": row.user_prompt,
            "judgment": row.text,
            "score": row.score if row.state == State.OK else NO_SCORE,
            "turn": row.turn,
            "tstamp": _stamp(row),
        }


def _pairs(rows: Iterable[Judgment], judge: str) -> Iterator[dict[str, Any]]:
    def game(row: Judgment) -> tuple[object, ...]:
        return row.question_id, row.model_a_id, row.model_b_id, row.choice, row.turn, row.repeat

    for _, both in groupby(rows, key=game):
        games = {row.game: row for row in both}
        first = games[min(games)]
        assert first.model_b is not None
        yield {
            "question_id": first.question.number,
            "model_1": first.model_a.name,
            "model_2": first.model_b.name,
            "g1_winner": _winner(games.get(1)),
            "g2_winner": _winner(games.get(2)),
            "judge": [judge, first.prompt_name],
            "g1_user_prompt": games[1].user_prompt if 1 in games else "",
            "g1_judgment": games[1].text if 1 in games else "",
            "g2_user_prompt": games[2].user_prompt if 2 in games else "",
            "g2_judgment": games[2].text if 2 in games else "",
            "turn": first.turn,
            "tstamp": _stamp(first),
        }


def _winner(row: Judgment | None) -> str:
    return WINNERS[row.winner] if row is not None and row.state == State.OK else NO_WINNER
