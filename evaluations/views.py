"""The pages of evaluations: runs, a new one, one run as it fills in, and its answers question by question."""

from typing import Any, cast
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Job, User
from common.charts.views import FORMATS, chart_response
from common.errors import TourneyError
from common.markdown import render as render_markdown
from evaluations import services
from evaluations.errors import RunNotFound
from evaluations.figures import FIGURES, figures_of
from evaluations.forms import RunForm
from evaluations.matrix import matrix
from evaluations.models import Run
from evaluations.planning import Estimate, chosen_questions, estimate, plan_of
from evaluations.reports import as_csv, as_markdown
from evaluations.results import results
from evaluations.scoring import scores_table
from evaluations.selectors import answers_to, is_under_way, judgments_on, run_of, runs_of, scores_of

RUNS_A_PAGE = 25
KEPT_SECONDS = 86_400


def _run_or_404(request: HttpRequest, run_id: UUID) -> Run:
    try:
        return run_of(cast(User, request.user), run_id)
    except RunNotFound:
        raise Http404 from None


def _administrator(request: HttpRequest) -> User:
    """Only administrators spend the server's money on whole runs."""
    user = cast(User, request.user)
    if not user.is_staff:
        raise PermissionDenied
    return user


@login_required
@require_safe
@never_cache
def index(request: HttpRequest) -> HttpResponse:
    page = Paginator(runs_of(cast(User, request.user)), RUNS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "evaluations/index.html", {"page": page, "runs": page.object_list})


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """POST with `start` makes the run and has it begun; without it, it only says what the run would take."""
    owner = _administrator(request)
    form = RunForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            if "start" in request.POST:
                with transaction.atomic():
                    run = services.run_start(run=services.run_create(owner=owner, **form.wanted()))
                return redirect("evaluations:detail", run.pk)
            context["estimate"] = _estimated(owner, form)
        except TourneyError as error:
            form.add_error(None, str(error))
    return render(request, "evaluations/new.html", context, status=400 if form.errors else 200)


def _estimated(owner: User, form: RunForm) -> Estimate:
    """The run is made and dropped again: so it is what a run would be."""
    with transaction.atomic():
        found = estimate(plan_of(services.run_create(owner=owner, **form.wanted())))
        transaction.set_rollback(True)
    return found


@login_required
@require_safe
@never_cache
def detail(request: HttpRequest, run_id: UUID) -> HttpResponse:
    run = _run_or_404(request, run_id)
    is_busy = is_under_way(run)
    # What a run that is over says does not change before it has ended once more.
    key = f"{run.pk}:{run.status}:{run.finished_at and run.finished_at.timestamp()}"
    document = results(run) if is_busy else _document(run, f"evaluation:{key}")
    context = {
        "run": run,
        "is_busy": is_busy,
        "job": Job.objects.filter(pk=run.job_id).first() if run.job_id else None,
        "document": document,
        "missing": {state: count for state, count in document["judgment_states"].items() if state != "ok"},
        "key": f"{key}:{is_busy and uuid4()}",
        "kept_seconds": 1 if is_busy else KEPT_SECONDS,
        # Functions: the template asks for them where it does not have them yet.
        "matrix": lambda: matrix(run, set(chosen_questions(run))),
        # They would only get in the way of a page that changes every second.
        "figures": lambda: {} if is_busy else _figures(run),
        "categories": sorted({name for row in document["model_results"] for name in row["category_breakdown"]}),
        "turns": sorted({turn for row in document["model_results"] for turn in row["turn_scores"]}),
        "has_games": any(judge["games"] for judge in document["judges"]["each"].values()),
    }
    return render(request, "evaluations/detail.html", context)


def _document(run: Run, key: str) -> dict[str, Any]:
    return cast(dict[str, Any], cache.get_or_set(key, lambda: results(run), KEPT_SECONDS))


def _figures(run: Run) -> dict[str, Any]:
    """Each chart with the address of its files."""
    found = {}
    for name, figure in figures_of(scores_of(run)).items():
        address = reverse("evaluations:chart", args=(run.pk, name, "svg"))
        found[name] = (figure, address.removesuffix(".svg"))
    return found


@login_required
@require_POST
def act(request: HttpRequest, run_id: UUID, action: str) -> HttpResponseRedirect:
    """Cancel a run, resume it, or ask again what failed."""
    _administrator(request)
    run = _run_or_404(request, run_id)
    try:
        with transaction.atomic():
            match action:
                case "cancel":
                    services.run_cancel(run=run)
                case "resume" if run.status != Run.Status.IMPORTED:
                    services.run_start(run=run)
                case "retry" if run.status != Run.Status.IMPORTED:
                    services.run_clear_failed(run=run)
                    services.run_start(run=run)
                case _:
                    raise Http404
    except TourneyError as error:
        messages.error(request, str(error))
    return redirect("evaluations:detail", run.pk)


@login_required
@require_safe
def question(request: HttpRequest, run_id: UUID, number: int) -> HttpResponse:
    """All answers to one question side by side, with what the judges said."""
    run = _run_or_404(request, run_id)
    found = get_object_or_404(run.question_set.questions, number=number)
    numbers = sorted(run.question_set.questions.filter(pk__in=chosen_questions(run)).values_list("number", flat=True))
    answers, judgments = list(answers_to(run, found.pk)), list(judgments_on(run, found.pk))
    turns = [
        {
            "number": index,
            "prompt": prompt,
            "answers": [
                {
                    "answer": answer,
                    "html": render_markdown(answer.text),
                    "judgments": [one for one in judgments if one.turn == index and _is_on(one, answer)],
                }
                for answer in answers
                if answer.turn == index
            ],
            "games": [one for one in judgments if one.turn == index and one.model_b_id],
        }
        for index, prompt in enumerate(found.turns, start=1)
    ]
    context = {
        "run": run,
        "question": found,
        "turns": turns,
        "reference": found.references.first(),
        "before": max((one for one in numbers if one < number), default=None),
        "after": min((one for one in numbers if one > number), default=None),
    }
    return render(request, "evaluations/question.html", context)


def _is_on(judgment: Any, answer: Any) -> bool:
    return judgment.model_b_id is None and judgment.model_a_id == answer.model_id and judgment.choice == answer.choice


@login_required
@require_safe
def chart(request: HttpRequest, run_id: UUID, name: str, ending: str) -> HttpResponse:
    run = _run_or_404(request, run_id)
    scores = scores_of(run)
    if name not in FIGURES or ending not in FORMATS or not scores:
        raise Http404
    return chart_response(FIGURES[name](scores, scores_table(scores)), ending)


@login_required
@require_safe
def table(request: HttpRequest, run_id: UUID, ending: str) -> HttpResponse:
    """The results as json, csv or md."""
    run = _run_or_404(request, run_id)
    document = results(run)
    match ending:
        case "json":
            response: HttpResponse = JsonResponse(document, json_dumps_params={"ensure_ascii": False, "indent": 2})
        case "csv":
            response = HttpResponse("".join(as_csv(document)), content_type="text/csv; charset=utf-8")
        case "md":
            response = HttpResponse(as_markdown(document), content_type="text/markdown; charset=utf-8")
        case _:
            raise Http404
    response.headers["Content-Disposition"] = f'attachment; filename="{run.name}.{ending}"'
    return response
