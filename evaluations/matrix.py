"""The matrix of a run's page: models by questions, as far as they are, or as they were stored."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Avg, Count, Q

from evaluations.models import Question, Run
from evaluations.planning import chosen_questions
from evaluations.reading.summaries import Reading
from evaluations.selectors import judgments_under
from evaluations.verdicts import State
from providers.models import GeneratedText


@dataclass(frozen=True, slots=True)
class Cell:
    """One model and one question: answers that are there, whether one failed, and the mean score."""

    number: int
    answers: int = 0
    has_failed: bool = False
    score: float | None = None

    @property
    def words(self) -> str:
        """What stands in the cell."""
        if self.score is not None:
            return f"{self.score:.1f}"
        return "!" if self.has_failed else "·" * self.answers


@dataclass(frozen=True, slots=True)
class Line:
    """One model: its cells in the order of the questions."""

    slug: str
    name: str
    cells: list[Cell]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A line for each model, with a cell for each of `questions`, which run asks."""

    questions: list[Question]
    rows: list[Line]


def matrix(run: Run, asked: set[int]) -> Matrix:
    """As it is now. `asked` holds the ids of the run's questions."""
    questions = _questions(run, asked)
    failed = Count("id", filter=~Q(status=GeneratedText.Status.FINISHED))
    answers = run.answers.order_by().values_list("model__name", "question__number").annotate(Count("id"), failed=failed)
    there: dict[tuple[str, int], tuple[int, int]] = {(name, number): (n, f) for name, number, n, f in answers}
    scored = judgments_under(run).filter(model_b=None, state=State.OK).order_by()
    scores: dict[tuple[str, int], float | None] = defaultdict(lambda: None)
    for name, number, score in scored.values_list("model_a__name", "question__number").annotate(Avg("score")):
        scores[name, number] = score
    rows = []
    for slug, name in run.contenders.order_by("name").values_list("slug", "name"):
        cells = []
        for question in questions:
            count, failures = there.get((name, question.number), (0, 0))
            cells.append(Cell(question.number, count, failures > 0, scores[name, question.number]))
        rows.append(Line(slug, name, cells))
    return Matrix(questions, rows)


def matrix_stored(run: Run, reading: Reading) -> Matrix:
    """As it was when the run ended, the best model first; nothing is counted anew."""
    questions = _questions(run, set(chosen_questions(run)))
    facts, cells = reading.summary.facts, reading.summary.facts["cells"]
    ranks = {row["model_name"]: place for place, row in enumerate(reading.document["model_results"])}
    models = sorted(
        run.contenders.values_list("slug", "name"), key=lambda model: (ranks.get(model[1], len(ranks)), model[1])
    )
    rows = []
    for slug, name in models:
        means, own = facts["questions"].get(name, {}), cells.get(name, {})
        rows.append(
            Line(
                slug,
                name,
                [
                    Cell(
                        question.number,
                        answers=1,
                        has_failed=any(turn[2] for turn in own.get(str(question.number), {}).values()),
                        score=means.get(str(question.number)),
                    )
                    for question in questions
                ],
            )
        )
    return Matrix(questions, rows)


def _questions(run: Run, asked: set[int]) -> list[Question]:
    return list(run.question_set.questions.filter(pk__in=asked).only("number", "category", "question_set"))
