"""The matrix of a run's page: models by questions, as far as they are."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Avg, Count, Q

from evaluations.models import Question, Run
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
class Matrix:
    """Rows of a model's name with a cell for each of `questions`, which run asks."""

    questions: list[Question]
    rows: list[tuple[str, list[Cell]]]


def matrix(run: Run, asked: set[int]) -> Matrix:
    """`asked` holds the ids of the run's questions."""
    questions = [question for question in run.question_set.questions.all() if question.pk in asked]
    failed = Count("id", filter=~Q(status=GeneratedText.Status.FINISHED))
    answers = run.answers.order_by().values_list("model__name", "question__number").annotate(Count("id"), failed=failed)
    there: dict[tuple[str, int], tuple[int, int]] = {(name, number): (n, f) for name, number, n, f in answers}
    scored = run.judgments.filter(model_b=None, state=State.OK).order_by()
    scores: dict[tuple[str, int], float | None] = defaultdict(lambda: None)
    for name, number, score in scored.values_list("model_a__name", "question__number").annotate(Avg("score")):
        scores[name, number] = score
    rows = []
    for name in run.contenders.order_by("name").values_list("name", flat=True):
        cells = []
        for question in questions:
            count, failures = there.get((name, question.number), (0, 0))
            cells.append(Cell(question.number, count, failures > 0, scores[name, question.number]))
        rows.append((name, cells))
    return Matrix(questions, rows)
