"""The pages of experiments."""

from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from common.errors import NotFound, TourneyError
from conversations.experiments import selectors, services
from conversations.experiments.analysing import compare, summarise
from conversations.experiments.charts import box_chart
from conversations.experiments.export import FORMATS
from conversations.experiments.forms import AnalyseForm
from conversations.models import Experiment
from conversations.selectors import scenarios_for
from providers.models import LanguageModel

EXPERIMENTS_SHOWN = 100
COMPARED = 12
LISTED = 50


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    found = Experiment.objects.filter(owner=cast(User, request.user)).select_related("job")[:EXPERIMENTS_SHOWN]
    return render(request, "conversations/experiments.html", {"experiments": found})


@login_required
@require_safe
def new(request: HttpRequest) -> HttpResponse:
    context = {
        "models": list(LanguageModel.objects.available().select_related("endpoint")),
        "scenarios": scenarios_for(cast(User, request.user)),
        "turns_max": settings.CONVERSATION_TURNS_MAX,
    }
    return render(request, "conversations/experiment_new.html", context)


@login_required
@require_safe
@never_cache
def detail(request: HttpRequest, experiment_id: UUID) -> HttpResponse:
    try:
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    context = {
        "experiment": experiment,
        "is_busy": experiment.job is not None and not experiment.job.is_over,
        "counts": selectors.experiment_counts(experiment),
        "table": selectors.experiment_table(experiment),
        "newest": selectors.turns_newest(experiment),
        "formats": list(FORMATS),
    }
    return render(request, "conversations/experiment.html", context)


@login_required
@require_POST
def act(request: HttpRequest, experiment_id: UUID, what: str) -> HttpResponse:
    """Start it again, or let it stand still."""
    work = services.experiment_start if what == "start" else services.experiment_cancel
    try:
        work(experiment_id=experiment_id, owner=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    except TourneyError as error:
        messages.error(request, str(error))
    return redirect("conversations:experiment", experiment_id)


@login_required
@require_safe
def analyse(request: HttpRequest, experiment_id: UUID) -> HttpResponse:
    """Distributions of a measure by model, scenario or turn; two groups compared; and the turns behind them."""
    try:
        experiment = selectors.experiment_get(experiment_id=experiment_id, viewer=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error
    form = AnalyseForm(request.GET or None, grid=experiment.grid)
    chosen = form.chosen()
    turns = selectors.experiment_turns(experiment, model=chosen["model"], scenario=chosen["scenario"])
    facts = selectors.experiment_facts(turns, measure=chosen["measure"], by=chosen["by"])
    summaries = summarise(facts)
    names = [one.group for one in summaries]
    compared = [(one, other) for at, one in enumerate(names) for other in names[at + 1 :]][:COMPARED]
    context = {
        "experiment": experiment,
        "form": form,
        "summaries": summaries,
        "chart": box_chart(summaries),
        "comparisons": [found for pair in compared if (found := compare(facts, *pair))],
        "turns": turns.select_related("model", "conversation__scenario").order_by("conversation__cell", "position")[
            :LISTED
        ],
    }
    return render(request, "conversations/experiment_analyse.html", context)
