"""A finished run from FastChat's folders: `model_answer`, `model_judgment` and what belongs to them. Called through the
services."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from common.refusals import is_refusal
from common.text import counted
from evaluations.errors import QuestionsInvalid
from evaluations.fastchat.rows import TURNS_MAX, Row, read
from evaluations.judge_prompts import PROMPT_FAMILIES
from evaluations.models import Answer, JudgePrompt, Judgment, Question, Run
from evaluations.questions.loading import QuestionsReport, questions_import
from evaluations.reading.summaries import summary_refresh
from evaluations.scorers import MATCHERS, SCORERS_MAX, Rubric, Scorer, scorers_read
from evaluations.verdicts import HIGHEST, LOWEST, State, Winner
from providers.external import models_external
from providers.models import GeneratedText

# Source: FastChat, fastchat/llm_judge/common.py (API_ERROR_OUTPUT)
ERROR_OUTPUT = "$ERROR$"
NO_SCORE = -1
NO_WINNER = "error"
# Who stands for a judge where a scorer matched an answer by a rule.
SCORERS = "scorers"
WINNERS = {"model_1": Winner.A, "model_2": Winner.B, "tie": Winner.TIE}
BATCH = 500
CHOICES_MAX = 1000
YEAR_3000 = 32_503_680_000


@dataclass
class RunReport:
    """What an import found: of answers and judgments, all rows of the files, and those that were not there yet."""

    run: Run
    questions: QuestionsReport
    answers: int = 0
    judgments: int = 0
    new_answers: int = 0
    new_judgments: int = 0

    def __str__(self) -> str:
        return (
            f"{self.run.name}: {counted(self.answers, 'answer')} ({self.new_answers:,} new), "
            f"{counted(self.judgments, 'judgment')} ({self.new_judgments:,} new)"
        )


@transaction.atomic
def run_import(*, folder: Path, name: str, owner: User, question_set: str = "") -> RunReport:
    """Take in a folder in FastChat's layout. A second time adds only what is new.

    `question_set` is the slug of the set to use or make; else one is made that is called like the run. Raises
    QuestionsInvalid with file and line; then nothing was kept.
    """
    questions = questions_import(source=str(folder), slug=question_set or name)
    run = Run.objects.filter(name=name).first()
    if run is None:
        run = Run(name=name, owner=owner, question_set=questions.question_set, status=Run.Status.IMPORTED)
        run.finished_at = timezone.now()
        run.save()
    elif run.status != Run.Status.IMPORTED or run.question_set_id != questions.question_set.pk:
        raise QuestionsInvalid(f"There is a run {name} already that was not imported with these questions.")
    return _Import(run, questions, folder).done()


class _Import:
    """One import: names become ids once, rows go in by the batch."""

    def __init__(self, run: Run, questions: QuestionsReport, folder: Path) -> None:
        self.run, self.folder = run, folder
        self.report = RunReport(run, questions)
        self.questions = {row.number: row for row in questions.question_set.questions.all()}
        # The newest of a name; FastChat's own last, so that they go before others of that name.
        self.prompts = {
            prompt.name: prompt.pk
            for prompt in JudgePrompt.objects.filter(family__in=PROMPT_FAMILIES).order_by("-family", "version")
        }
        self.scorers: dict[int, tuple[Scorer, ...]] = {}
        self.models: dict[str, int] = {}
        self.repeats: Counter[tuple[object, ...]] = Counter()

    def done(self) -> RunReport:
        answers = sorted((self.folder / "model_answer").glob("*.jsonl"))
        judgments = sorted((self.folder / "model_judgment").glob("*.jsonl"))
        if not answers and not judgments:
            raise QuestionsInvalid(f"{self.folder} holds neither model_answer/ nor model_judgment/.")
        before = self.run.answers.count(), self.run.judgments.count()
        for file in answers:
            self.report.answers += _store(Answer, (one for row in read(file) for one in self._answers(row)))
        for file in judgments:
            self.report.judgments += _store(Judgment, (one for row in read(file) for one in self._judged(row)))
        self.report.new_answers = self.run.answers.count() - before[0]
        self.report.new_judgments = self.run.judgments.count() - before[1]
        self._who()
        if self.report.new_answers or self.report.new_judgments:
            Run.objects.filter(pk=self.run.pk).update(finished_at=timezone.now())
            summary_refresh(run_id=self.run.pk)
        return self.report

    def _who(self) -> None:
        run = self.run
        pairs = run.judgments.filter(model_b__isnull=False)
        seen = {*run.answers.order_by().values_list("model_id", flat=True).distinct()}
        seen |= {*run.judgments.order_by().values_list("model_a_id", flat=True).distinct()}
        seen |= {*pairs.order_by().values_list("model_b_id", flat=True).distinct()}
        run.contenders.set(seen)
        judged = run.judgments.filter(judge__isnull=False)
        run.judges.set(judged.order_by().values_list("judge_id", flat=True).distinct())
        if pairs.exists() and not judged.filter(model_b__isnull=True).exists():
            baseline = _baseline(pairs)
            mode = Run.Mode.ALL if baseline is None else Run.Mode.BASELINE
            Run.objects.filter(pk=run.pk).update(mode=mode, baseline=baseline)

    def _model(self, row: Row, name: str) -> int:
        if not 0 < len(name) <= 100:
            raise row.problem("the name of a model must have 1 to 100 characters.")
        if name not in self.models:
            self.models |= models_external(names=[name])
        return self.models[name]

    def _question(self, row: Row) -> Question:
        number = row.number("question_id")
        if number not in self.questions:
            raise row.problem(f"there is no question {number} in the set.")
        return self.questions[number]

    def _answers(self, row: Row) -> Iterator[Answer]:
        question, model = self._question(row), self._model(row, row.text("model_id"))
        for choice, turns in enumerate(row.choices()):
            for turn, text in enumerate(turns, start=1):
                is_error = text == ERROR_OUTPUT
                yield Answer(
                    run=self.run,
                    question=question,
                    model_id=model,
                    choice=choice,
                    turn=turn,
                    answer_id=row.text("answer_id", default="")[:64],
                    text="" if is_error else text,
                    is_refusal=not is_error and is_refusal(text),
                    status=GeneratedText.Status.FAILED if is_error else GeneratedText.Status.FINISHED,
                    finished_at=_time(row),
                )

    def _judged(self, row: Row) -> Iterator[Judgment]:
        judge, prompt = row.judge()
        question = self._question(row)
        place = row.number("scorer", default=0, high=SCORERS_MAX)
        is_match = judge == SCORERS
        shared: dict[str, Any] = {
            "run": self.run,
            "question": question,
            "judge_id": None if is_match else self._model(row, judge),
            "prompt_id": self.prompts.get(prompt),
            "prompt_name": prompt,
            "scorer": place,
            "details": self._details(row, question, place, prompt if is_match else ""),
            "choice": row.number("choice", default=0, high=CHOICES_MAX),
            "turn": row.number("turn", default=1, low=1, high=TURNS_MAX),
            "status": GeneratedText.Status.FINISHED,
            "finished_at": _time(row),
        }
        if "model" in row.values:
            yield self._single(row, shared | {"model_a_id": self._model(row, row.text("model"))})
        elif "model_1" in row.values:
            one, two = (self._model(row, row.text(name)) for name in ("model_1", "model_2"))
            if one == two:
                raise row.problem("a model is compared with itself.")
            yield from self._pair(row, shared | {"model_a_id": one, "model_b_id": two})
        else:
            raise row.problem("there is neither model nor model_1.")

    def _details(self, row: Row, question: Question, place: int, matcher: str) -> dict[str, Any]:
        """How the scorer was set, as its question says it, and what a rubric was rated; empty where judges graded or
        compared. `matcher` is the kind of a scorer that matched by a rule."""
        if not matcher and "ratings" not in row.values:
            return {}
        if question.pk not in self.scorers:
            self.scorers[question.pk] = scorers_read(question.scorers, turns=len(question.turns))
        scorers = self.scorers[question.pk]
        scorer = scorers[place] if place < len(scorers) else None
        settled: dict[str, Any] = msgspec.to_builtins(scorer) if scorer else {}
        if matcher:
            if not isinstance(scorer, MATCHERS) or settled["kind"] != matcher:
                raise row.problem(f"judge: question {question.number} has no such scorer at place {place}.", "judge")
            return {"scorer": settled}
        ratings = row.values["ratings"]
        if not isinstance(scorer, Rubric) or not isinstance(ratings, dict):
            raise row.problem(f"ratings: question {question.number} has no rubric at place {place}.", "ratings")
        numbers = [one for one in ratings.values() if isinstance(one, int | float) and scorer.low <= one <= scorer.high]
        if set(ratings) != {criterion.name for criterion in scorer.criteria} or len(numbers) != len(ratings):
            raise row.problem("ratings: each criterion needs one on the rubric's scale.", "ratings")
        return {"scorer": settled, "ratings": ratings}

    def _single(self, row: Row, shared: dict[str, Any]) -> Judgment:
        score = row.figure("score")
        if score is None or (score != NO_SCORE and not LOWEST <= score <= HIGHEST):
            raise row.problem(f"score must be a number from {LOWEST:g} to {HIGHEST:g}, or -1 for none.")
        return Judgment(
            **shared,
            repeat=self._repeat(shared),
            state=State.PARSE if score == NO_SCORE else State.OK,
            score=None if score == NO_SCORE else score,
            text=row.text("judgment", default=""),
            user_prompt=row.text("user_prompt", default=""),
        )

    def _pair(self, row: Row, shared: dict[str, Any]) -> Iterator[Judgment]:
        repeat = self._repeat(shared)
        for game in (1, 2):
            winner = row.text(f"g{game}_winner")
            if winner not in WINNERS and winner != NO_WINNER:
                raise row.problem(f"g{game}_winner must be model_1, model_2, tie or error.")
            yield Judgment(
                **shared,
                repeat=repeat,
                game=game,
                state=State.OK if winner in WINNERS else State.PARSE,
                winner=WINNERS.get(winner, ""),
                text=row.text(f"g{game}_judgment", default=""),
                user_prompt=row.text(f"g{game}_user_prompt", default=""),
            )

    def _repeat(self, shared: dict[str, Any]) -> int:
        """How many rows on the same came before this one: a file that was appended to counts each, as FastChat does."""
        key = (
            shared["question"].pk, shared["judge_id"], shared["model_a_id"], shared.get("model_b_id"), shared["turn"],
            shared["choice"], shared["scorer"],
        )  # fmt: skip
        self.repeats[key] += 1
        return self.repeats[key] - 1


def _baseline(pairs: QuerySet[Judgment]) -> int | None:
    """The model that several others were compared with, and always as FastChat's model_2; None where there is none."""
    sides = set(pairs.order_by().values_list("model_a_id", "model_b_id").distinct())
    second = {two for _, two in sides}
    return second.pop() if len(second) == 1 and len(sides) > 1 else None


def _time(row: Row) -> datetime | None:
    stamp = row.figure("tstamp")
    return datetime.fromtimestamp(stamp, UTC) if stamp is not None and 0 <= stamp < YEAR_3000 else None


def _store(model: type[Answer] | type[Judgment], rows: Iterator[Any]) -> int:
    """Store by the batch what is not there yet; return how many rows there were."""
    count, batch = 0, []
    for row in rows:
        count += 1
        batch.append(row)
        if len(batch) == BATCH:
            model._default_manager.bulk_create(batch, ignore_conflicts=True)
            batch = []
    model._default_manager.bulk_create(batch, ignore_conflicts=True)
    return count
