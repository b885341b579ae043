"""The pages of experiments."""

from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from common.errors import NotFound, TourneyError
from conversations.comparing.results import votes_of
from conversations.errors import ExperimentInvalid
from conversations.experiments import selectors, services
from conversations.experiments.export import FORMATS
from conversations.experiments.files import GridFile
from conversations.experiments.plan import Grid
from conversations.experiments.table import experiment_table_shown, spots_moved
from conversations.models import Experiment
from conversations.selectors import scenarios_for
from providers.models import LanguageModel

EXPERIMENTS_A_PAGE = 20
FILE_MAX_BYTES = 1_000_000


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    found = Experiment.objects.filter(owner=cast(User, request.user)).select_related("job")
    page = Paginator(found, EXPERIMENTS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "conversations/experiments.html", {"page": page})


@login_required
@require_safe
def new(request: HttpRequest) -> HttpResponse:
    """An empty plan, or with `from` that of an experiment, to be played again or changed."""
    grid = None
    if (id_ := request.GET.get("from", "")) and selectors.UUID_SHAPE.fullmatch(id_):
        again = experiment_or_404(request, UUID(id_))
        grid = again.grid | {"scenario_versions": again.scenario_versions}
    return _form(request, grid)


@login_required
@require_POST
def from_file(request: HttpRequest) -> HttpResponse:
    """The plan of a YAML file or a manifest, in the form; what is wrong with it is said with its line."""
    file = request.FILES.get("file")
    try:
        if file is None:
            raise ExperimentInvalid(_("Choose a file first."))
        read = GridFile(file.read(FILE_MAX_BYTES).decode())
        try:
            services.grid_check(owner=cast(User, request.user), given=read.grid)
        except TourneyError as error:
            raise read.located(error) from error
    except UnicodeDecodeError:
        return _form(request, None, _("This is no text in UTF-8."))
    except TourneyError as error:
        return _form(request, None, str(error))
    return _form(request, read.grid)


def _form(request: HttpRequest, given: dict[str, Any] | None, problem: str = "") -> HttpResponse:
    models = list(LanguageModel.objects.available().select_related("endpoint"))
    scenarios = list(scenarios_for(cast(User, request.user)))
    first_look = {
        "models": [one.slug for one in models[:2]], "scenarios": [one.slug for one in scenarios[:3]],
        "iterations": 5, "turns": 6,
    }  # fmt: skip
    grid: dict[str, Any] = {"name": "", "scenarios": []} | (first_look if given is None else given)
    there = {one.slug for one in models}
    named = {*grid.get("models", ()), *(slug for pair in grid.get("listed", ()) for slug in pair)}
    current = {one.slug: one.version for one in scenarios}
    older = {slug: at for slug, at in grid.get("scenario_versions", {}).items() if current.get(slug) != at}
    context = {
        "grid": msgspec.to_builtins(msgspec.convert(grid, Grid)),
        "models": models,
        "away": sorted(named - there),
        "scenarios": scenarios,
        "older_versions": older,
        "problem": problem,
        "turns_max": settings.CONVERSATION_TURNS_MAX,
    }
    return render(request, "conversations/experiment_new.html", context, status=400 if problem else 200)


@login_required
@require_safe
@never_cache
def detail(request: HttpRequest, experiment_id: UUID) -> HttpResponse:
    experiment = experiment_or_404(request, experiment_id)
    table = experiment_table_shown(experiment)
    votes = votes_of(experiment)
    context = _moving(experiment) | {"table": table, "since": table.at, "formats": list(FORMATS), "votes": votes}
    return render(request, "conversations/experiment.html", context)


@login_required
@require_safe
@never_cache
def changes(request: HttpRequest, experiment_id: UUID) -> HttpResponse:
    """What has changed on that page since a time, as pieces of it."""
    experiment, now = experiment_or_404(request, experiment_id), timezone.now()
    since = max(_time(request.GET.get("since", "")) or now, experiment.created_at)
    context = _moving(experiment) | {"spots": spots_moved(experiment, since=since), "since": now}
    return render(request, "conversations/experiment_changes.html", context)


def _time(given: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(given)
    except ValueError:
        return None
    return None if timezone.is_naive(time) else time


def _moving(experiment: Experiment) -> dict[str, Any]:
    """What the page shows of an experiment that moves on."""
    counts = selectors.experiment_progress(experiment)
    return {
        "experiment": experiment,
        "is_played": selectors.experiment_is_played(experiment),
        "has_job": experiment.job is not None and not experiment.job.is_over,
        "counts": counts,
        "ends_in": in_words(counts["seconds_left"]),
        "newest": selectors.turns_newest(experiment),
    }


def experiment_or_404(request: HttpRequest, experiment_id: UUID) -> Experiment:
    try:
        return selectors.experiment_get(experiment_id=experiment_id, viewer=cast(User, request.user))
    except NotFound as error:
        raise Http404 from error


def in_words(seconds: int | None) -> str:
    """A duration as people say it: seconds, minutes, or hours and minutes."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


@login_required
@require_POST
def share(request: HttpRequest, experiment_id: UUID) -> HttpResponse:
    """Let others compare its conversations, or no longer."""
    owner, sharing = cast(User, request.user), request.POST.get("sharing", "")
    try:
        services.experiment_share(experiment_id=experiment_id, owner=owner, sharing=sharing)
        messages.success(request, Experiment.Sharing(sharing).label)
    except NotFound as error:
        raise Http404 from error
    except TourneyError as error:
        messages.error(request, str(error))
    return redirect("conversations:experiment", experiment_id)


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
