"""A run as FastChat's files: the folder that FastChat's own tools, and `run_import`, read. What FastChat has no word
for stands in keys of ours, which its tools pass over, and only where it differs from what they take for granted."""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from django.db.models import Count, QuerySet

from common.zipping import zipped
from evaluations.fastchat.importing import ERROR_OUTPUT, NO_SCORE, NO_WINNER, SCORERS
from evaluations.models import Answer, JudgePrompt, Judgment, Run
from evaluations.selectors import judgments_under
from evaluations.verdicts import State, Winner
from providers.models import GeneratedText

WINNERS = {Winner.A.value: "model_1", Winner.B.value: "model_2", Winner.TIE.value: "tie"}
UNSAFE = str.maketrans(dict.fromkeys('/\\:*?"<>|\x00', "_"))
KINDS = {JudgePrompt.Kind.SINGLE: "single", JudgePrompt.Kind.PAIR: "pairwise", JudgePrompt.Kind.RUBRIC: "rubric"}
# Rows with their texts that are in memory at once, unless one question has more.
PORTION = 2000

FileRows = tuple[str, Iterator[dict[str, Any]]]


def run_export(*, run: Run, folder: Path) -> list[Path]:
    """Write a folder in FastChat's layout; return its files. What is there under the same names is written anew."""
    written = []
    for name, rows in _files(run):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(map(_line, rows))
        written.append(path)
    return written


def run_zip(run: Run) -> Iterator[bytes]:
    """The same folder as a ZIP archive in pieces; neither it nor a file of it is ever whole in memory."""
    return zipped((name, map(_line, rows)) for name, rows in _files(run))


def _files(run: Run) -> Iterator[FileRows]:
    """Every file that is not empty, with its rows; each is read to its end before the next."""
    yield "question.jsonl", _questions(run)
    references = _references(run)
    for author in sorted(references):
        yield f"reference_answer/{_safe(author)}.jsonl", iter(references[author])
    prompts = JudgePrompt.objects.filter(pk__in=run.judgments.values("prompt")).order_by("name", "version")
    if prompts:
        yield "judge_prompts.jsonl", map(_prompt, prompts)
    for model in run.contenders.order_by("name"):
        rows = run.answers.filter(model=model)
        if rows.exists():
            portions = _portions(rows.select_related("question"), "choice", "turn")
            yield f"model_answer/{_safe(model.name)}.jsonl", _answers(portions, model.name)
    judged = judgments_under(run).select_related("question", "model_a", "model_b")
    matches = judged.filter(judge=None)
    if matches.exists():
        yield f"model_judgment/{SCORERS}_single.jsonl", _single(_portions(matches, *ORDER), SCORERS)
    for judge in run.judges.order_by("name"):
        own = judged.filter(judge=judge)
        for kind, rows_of, chosen in (
            ("single", _single, own.filter(model_b=None)), ("pair", _pairs, own.exclude(model_b=None)),
        ):  # fmt: skip
            if chosen.exists():
                yield f"model_judgment/{_safe(judge.name)}_{kind}.jsonl", rows_of(_portions(chosen, *ORDER), judge.name)


ORDER = ("model_a__name", "model_b__name", "choice", "turn", "scorer", "repeat", "game")


def _portions(rows: QuerySet[Any], *order: str) -> Iterator[Any]:
    """The rows by question, then in this order; asked for a few questions at a time, so that no transaction stays open
    and it works in whatever thread asks for the next one."""
    counts = rows.order_by("question__number").values_list("question_id").annotate(Count("pk"))
    asked, held = list[int](), 0
    for question, count in [*counts, (0, PORTION)]:
        if asked and held + count > PORTION:
            yield from list(rows.filter(question__in=asked).order_by("question__number", *order))
            asked, held = [], 0
        asked.append(question)
        held += count


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


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
        "type": KINDS[JudgePrompt.Kind(prompt.kind)],
        "system_prompt": prompt.system_prompt,
        "prompt_template": prompt.template,
        "description": prompt.description,
        "category": prompt.category,
        "output_format": prompt.output_format,
        "family": prompt.family,
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
        } | _beside(row)


def _beside(row: Judgment) -> dict[str, Any]:
    """What FastChat has no key for, where there is any."""
    more = {"choice": row.choice, "scorer": row.scorer, "ratings": row.details.get("ratings")}
    return {name: value for name, value in more.items() if value}


def _pairs(rows: Iterable[Judgment], judge: str) -> Iterator[dict[str, Any]]:
    def game(row: Judgment) -> tuple[object, ...]:
        return row.question_id, row.model_a_id, row.model_b_id, row.choice, row.turn, row.scorer, row.repeat

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
        } | _beside(first)


def _winner(row: Judgment | None) -> str:
    return WINNERS[row.winner] if row is not None and row.state == State.OK else NO_WINNER
