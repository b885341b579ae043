"""The pages on which results are read: charts and files, answers side by side, judges, and two runs compared."""

from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from common.charts.figure import Figure
from common.charts.views import FORMATS, chart_response
from common.errors import TourneyError
from common.markdown import render as render_markdown
from evaluations import services
from evaluations.figures import FIGURES, Facts, figures_of
from evaluations.html_report import as_html
from evaluations.models import Answer, Judgment, Question, Run, RunPair, VoteSet
from evaluations.planning import chosen_questions
from evaluations.reading.answers import Row, rows
from evaluations.reading.battles import battle_report
from evaluations.reading.charts import VOTE_FIGURES, difference_figure, judging_figures
from evaluations.reading.forms import AnswersForm, CompareForm, VotesForm
from evaluations.reading.summaries import Reading, reading_of
from evaluations.reading.texts import turns_difference
from evaluations.reading.votes import FILE_MAX_BYTES
from evaluations.reports import as_csv, as_markdown
from evaluations.selectors import answers_to, judgments_on, run_of_or_404, runs_of, scores_of, vote_sets_of
from providers.models import LanguageModel

CHANGES_SHOWN = 20


def references_of(request: HttpRequest) -> int:
    """The version of the references that was asked for; 0 for the newest."""
    asked = request.GET.get("references", "")
    return int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 7 else 0


def reading_or_404(run: Run, references: int = 0, *, parts: tuple[str, ...] = ()) -> Reading:
    """What is stored of the run. Where it is not yet, a worker is asked for it."""
    reading = reading_of(run, references, parts=parts)
    if reading is None:
        services.summary_want(run)
        raise Http404
    return reading


@login_required
@require_safe
def chart(request: HttpRequest, run_id: UUID, name: str, ending: str) -> HttpResponse:
    """One chart of a run as svg, png, csv or json."""
    run = run_of_or_404(request.user, run_id)
    if ending not in FORMATS:
        raise Http404
    facts = reading_or_404(run, references_of(request)).facts
    return chart_response(_drawn(facts, name), ending)


def _drawn(facts: Facts, name: str) -> Figure:
    if name not in FIGURES:
        raise Http404
    figure = FIGURES[name](facts)
    if figure.is_empty:
        raise Http404
    return figure


@login_required
@require_safe
def table(request: HttpRequest, run_id: UUID, ending: str) -> HttpResponse:
    """The results as json, csv, md, or as an html file for reading."""
    run = run_of_or_404(request.user, run_id)
    references = references_of(request)
    document = reading_or_404(run, references, parts=("document",)).document
    match ending:
        case "json":
            response: HttpResponse = JsonResponse(document, json_dumps_params={"ensure_ascii": False, "indent": 2})
        case "csv":
            response = HttpResponse("".join(as_csv(document)), content_type="text/csv; charset=utf-8")
        case "md":
            response = HttpResponse(as_markdown(document), content_type="text/markdown; charset=utf-8")
        case "html":
            scores = scores_of(run, references=references)
            page = as_html(run, document, figures_of(scores), scores)
            response = HttpResponse(page, content_type="text/html; charset=utf-8")
        case _:
            raise Http404
    response.headers["Content-Disposition"] = f'attachment; filename="{run.name}.{ending}"'
    return response


def _contenders(run: Run, reading: Reading | None) -> list[LanguageModel]:
    """The run's models, the best first."""
    ranks = {line.model: place for place, line in enumerate(reading.facts.lines)} if reading else {}
    models = run.contenders.only("slug", "name")
    return sorted(models, key=lambda model: (ranks.get(model.name, len(ranks)), model.name))


def _questions(run: Run) -> list[Question]:
    return list(run.question_set.questions.filter(pk__in=chosen_questions(run)))


def _answers_form(query: QueryDict, run: Run, reading: Reading | None, asked: list[Question]) -> AnswersForm:
    return AnswersForm(
        query,
        models=_contenders(run, reading),
        categories=sorted({question.category for question in asked}),
        turns=max((len(question.turns) for question in asked), default=0),
    )


def _kept(form: AnswersForm, reading: Reading | None, asked: list[Question]) -> list[Row]:
    cells = reading.summary.facts["cells"] if reading else {}
    return rows(cells, [(question.number, question.category) for question in asked], form.chosen()[1])


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


@login_required
@require_safe
@never_cache
def agreement(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """How the run's judges agree with each other and with people, and what they lean towards."""
    run = run_of_or_404(request.user, run_id)
    reading = reading_of(run)
    if reading is None:
        services.summary_want(run)
    context = {
        "run": run,
        "report": reading.summary.agreement[""] if reading else {},
        "parts": _parts(reading.summary.agreement) if reading else {},
        "figures": judging_figures(reading) if reading else {},
        "address": reverse("evaluations:agreement", args=(run.pk,)),
        "vote_sets": vote_sets_of(cast(User, request.user)).filter(run=run),
    }
    return render(request, "evaluations/agreement.html", context)


def _parts(report: dict[str, Any]) -> dict[str, list[tuple[str, Any]]]:
    """The report's parts by what they are parts of: categories, then turns."""
    found: dict[str, list[tuple[str, Any]]] = {"category": [], "turn": []}
    for name, part in report.items():
        by, _, value = name.partition(":")
        if by in found:
            found[by].append((value, part))
    return found


@login_required
@require_safe
def agreement_chart(request: HttpRequest, run_id: UUID, name: str, ending: str) -> HttpResponse:
    run = run_of_or_404(request.user, run_id)
    figures = judging_figures(reading_or_404(run))
    if ending not in FORMATS or name not in figures:
        raise Http404
    return chart_response(figures[name], ending)


@login_required
@require_safe
@never_cache
def compare(request: HttpRequest) -> HttpResponse:
    """Two runs, or two models of one: what changed, and whether it is more than chance."""
    runs = runs_of(cast(User, request.user)).order_by("name")
    form = CompareForm(request.GET if "second" in request.GET else None, runs=runs, initial=request.GET.dict())
    context: dict[str, Any] = {"form": form, "runs": runs}
    if form.is_bound and form.is_valid():
        try:
            pair = services.run_pair_get(**form.cleaned_data)
        except TourneyError as error:
            form.add_error(None, str(error))
        else:
            context |= {"pair": pair, "is_waiting": pair.computed_at is None}
            if pair.computed_at is not None:
                query = urlencode({name: request.GET.get(name, "") for name in form.fields})
                context |= {
                    "overall": [row for row in pair.document["differences"] if not row["part"]],
                    "figure": difference_figure(pair.document),
                    "changes": _changes(pair),
                    "query": query,
                }
    return render(request, "evaluations/compare.html", context)


def _changes(pair: RunPair) -> list[dict[str, Any]]:
    """The questions that changed most, with what has their pages show the two models: both, where they are of one
    run."""
    slugs = [dict(run.contenders.values_list("name", "slug")) for run in (pair.first, pair.second)]
    changes = []
    for change in pair.document["changes"][:CHANGES_SHOWN]:
        names = [change["first"], change["second"]]
        shown = [names, names] if pair.first_id == pair.second_id else [[name] for name in names]
        queries = [
            urlencode({"models": [own[name] for name in some if name in own]}, doseq=True)
            for own, some in zip(slugs, shown, strict=True)
        ]
        changes.append(change | {"first_query": queries[0], "second_query": queries[1]})
    return changes


@login_required
@require_safe
def compare_chart(request: HttpRequest, ending: str) -> HttpResponse:
    form = CompareForm(request.GET, runs=runs_of(cast(User, request.user)))
    if ending not in FORMATS or not form.is_valid():
        raise Http404
    try:
        pair = services.run_pair_get(**form.cleaned_data)
    except TourneyError:
        raise Http404 from None
    if pair.computed_at is None:
        raise Http404
    return chart_response(difference_figure(pair.document), ending)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def votes(request: HttpRequest) -> HttpResponse:
    """Files of people's votes; administrators import more."""
    user = cast(User, request.user)
    form = VotesForm(request.POST or None, request.FILES or None, runs=runs_of(user))
    if request.method == "POST":
        if not user.is_staff:
            raise PermissionDenied
        if form.is_valid():
            file = form.cleaned_data["file"]
            try:
                made = services.votes_import(
                    owner=user, name=form.cleaned_data["name"], data=file.read(FILE_MAX_BYTES + 1), file_name=file.name,
                    run=form.cleaned_data["run"],
                )  # fmt: skip
                return redirect("evaluations:vote_set", made.pk)
            except TourneyError as error:
                form.add_error("file", str(error))
    context = {"form": form, "vote_sets": vote_sets_of(user)}
    return render(request, "evaluations/votes.html", context, status=400 if form.errors else 200)


@login_required
@require_safe
@never_cache
def vote_set(request: HttpRequest, vote_set_id: UUID) -> HttpResponse:
    """How far the judges of a file agree with its people."""
    found = _vote_set(request, vote_set_id)
    address = reverse("evaluations:vote_set", args=(found.pk,))
    context = {"vote_set": found, **_reported(found.report, address)}
    return render(request, "evaluations/vote_set.html", context)


def _reported(report: dict[str, Any], address: str) -> dict[str, Any]:
    rows = report["rows"]
    return {
        "report": report,
        "overall": [row for row in rows if not row["by"]],
        "by": {by: [row for row in rows if row["by"] == by] for by in ("turn", "category")},
        "figures": {name: draw(report) for name, draw in VOTE_FIGURES.items()},
        "address": address,
    }


@login_required
@require_safe
@never_cache
def battles(request: HttpRequest) -> HttpResponse:
    """How far judges agree with the people who voted on our own battles."""
    found = battle_report()
    shown = _reported(found.report, reverse("evaluations:battles")) if found else {}
    return render(request, "evaluations/battles.html", {"found": found, **shown})


@login_required
@require_safe
def battles_chart(request: HttpRequest, name: str, ending: str) -> HttpResponse:
    found = battle_report()
    if ending not in FORMATS or name not in VOTE_FIGURES or found is None:
        raise Http404
    return chart_response(VOTE_FIGURES[name](found.report), ending)


@login_required
@require_safe
def vote_set_chart(request: HttpRequest, vote_set_id: UUID, name: str, ending: str) -> HttpResponse:
    found = _vote_set(request, vote_set_id)
    if ending not in FORMATS or name not in VOTE_FIGURES:
        raise Http404
    return chart_response(VOTE_FIGURES[name](found.report), ending)


@login_required
@require_POST
def vote_set_delete(request: HttpRequest, vote_set_id: UUID) -> HttpResponse:
    """Forget a file's votes: its owner and administrators may."""
    services.vote_set_delete(vote_set=_vote_set(request, vote_set_id))
    return redirect("evaluations:votes")


def _vote_set(request: HttpRequest, vote_set_id: UUID) -> VoteSet:
    visible: QuerySet[VoteSet] = vote_sets_of(cast(User, request.user))
    return get_object_or_404(visible, pk=vote_set_id)
