"""The pages of a run's answers: the questions that a filter keeps, and one question with its answers side by side."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.markdown import render as render_markdown
from evaluations import services
from evaluations.models import Answer, Judgment, Question, Run
from evaluations.planning import chosen_questions
from evaluations.reading.answers import Row, rows
from evaluations.reading.forms import AnswersForm
from evaluations.reading.summaries import Reading, reading_of
from evaluations.reading.texts import turns_difference
from evaluations.selectors import answers_to, judgments_on, run_of_or_404
from providers.models import LanguageModel


@login_required
@require_safe
@never_cache
def answers(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """The questions that a filter keeps, with what the chosen models got. Each leads to its answers."""
    run = run_of_or_404(request.user, run_id)
    reading, asked = reading_of(run), _questions(run)
    if reading is None:
        services.summary_want(run)
    form = _answers_form(request.GET, run, reading, asked)
    prompts = {question.number: question.turns[0] for question in asked}
    context = {
        "run": run,
        "form": form,
        "shown": form.chosen()[0],
        "rows": [(row, prompts[row.number]) for row in _kept(form, reading, asked)],
        "asked": len(asked),
        "is_filtered": any(value for name, value in request.GET.items() if name not in ("models", "order")),
        "query": request.GET.urlencode(),
        "has_apart": len(reading.document["run"]["judges"]) > 1 if reading else False,
    }
    return render(request, "evaluations/answers.html", context)


@login_required
@require_safe
def question(request: HttpRequest, run_id: UUID, number: int) -> HttpResponse:
    """The answers of the chosen models to one question side by side, with what the judges said."""
    run = run_of_or_404(request.user, run_id)
    reading, asked = reading_of(run), _questions(run)
    found = get_object_or_404(run.question_set.questions, number=number)
    form = _answers_form(request.GET, run, reading, asked)
    shown, wanted = form.chosen()
    numbers = [row.number for row in _kept(form, reading, asked)]
    if number not in numbers:
        numbers = [question.number for question in asked]
    at = numbers.index(number) if number in numbers else None
    names = {model.pk for model in shown}
    said = list(answers_to(run, found.pk).filter(model__in=names))
    judged = [
        one
        for one in judgments_on(run, found.pk).filter(model_a__in=names)
        if one.model_b_id is None or one.model_b_id in names
    ]
    references = list(found.references.all())
    context = {
        "run": run,
        "question": found,
        "form": form,
        "shown": [model.slug for model in shown],
        "turns": [
            _turn(index, prompt, shown, said, judged)
            for index, prompt in enumerate(found.turns, start=1)
            if wanted.turn is None or wanted.turn == index
        ],
        "references": [
            (one, turns_difference(older.turns, one.turns) if older else None)
            for one, older in zip(references, [*references[1:], None], strict=False)
        ],
        "before": numbers[at - 1] if at else None,
        "after": numbers[at + 1] if at is not None and at + 1 < len(numbers) else None,
        "place": None if at is None else at + 1,
        "places": len(numbers),
        "query": request.GET.urlencode(),
    }
    return render(request, "evaluations/question.html", context)


def _turn(
    number: int, prompt: str, shown: list[LanguageModel], said: list[Answer], judged: list[Judgment]
) -> dict[str, Any]:
    of_turn = [one for one in judged if one.turn == number]
    order = {model.pk: place for place, model in enumerate(shown)}
    entries = [
        {
            "answer": answer,
            "html": render_markdown(answer.text),
            "judgments": [one for one in of_turn if _is_on(one, answer)],
        }
        for answer in sorted(said, key=lambda answer: (order[answer.model_id], answer.choice))
        if answer.turn == number
    ]
    return {"number": number, "prompt": prompt, "answers": entries, "games": [one for one in of_turn if one.model_b_id]}


def _is_on(judgment: Judgment, answer: Answer) -> bool:
    return judgment.model_b_id is None and judgment.model_a_id == answer.model_id and judgment.choice == answer.choice


def _answers_form(query: QueryDict, run: Run, reading: Reading | None, asked: list[Question]) -> AnswersForm:
    return AnswersForm(
        query,
        models=_contenders(run, reading),
        categories=sorted({question.category for question in asked}),
        turns=max((len(question.turns) for question in asked), default=0),
    )


def _contenders(run: Run, reading: Reading | None) -> list[LanguageModel]:
    """The run's models, the best first."""
    ranks = {line.model: place for place, line in enumerate(reading.facts.lines)} if reading else {}
    models = run.contenders.only("slug", "name")
    return sorted(models, key=lambda model: (ranks.get(model.name, len(ranks)), model.name))


def _kept(form: AnswersForm, reading: Reading | None, asked: list[Question]) -> list[Row]:
    cells = reading.summary.facts["cells"] if reading else {}
    return rows(cells, [(question.number, question.category) for question in asked], form.chosen()[1])


def _questions(run: Run) -> list[Question]:
    return list(run.question_set.questions.filter(pk__in=chosen_questions(run)))
