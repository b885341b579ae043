"""The page on which judges judge a conversation, or those of an experiment."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import Job, User
from common.errors import NotFound, TourneyError
from evaluations.talks import texts
from evaluations.talks.results import judging_results, judgments_of
from evaluations.talks.running import KIND, RUBRIC_MAX_CHARACTERS, judging_start
from evaluations.talks.subjects import Subject, subject_of
from providers.models import LanguageModel

LISTED = 50


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def judging(
    request: HttpRequest, experiment_id: UUID | None = None, conversation_id: UUID | None = None
) -> HttpResponse:
    """What judges said so far of an experiment or of a conversation; POST has one judge more."""
    user = cast(User, request.user)
    try:
        subject = subject_of(owner=user, experiment_id=experiment_id, conversation_id=conversation_id)
        if request.method == "POST":
            return _start(request, user, experiment_id=experiment_id, conversation_id=conversation_id)
    except NotFound as error:
        raise Http404 from error
    context = {
        "subject": subject,
        "experiment_id": experiment_id,
        "conversation_id": conversation_id,
        "job": _jobs(user, subject).first(),
        "results": judging_results(owner=user, subject=subject),
        "judgments": judgments_of(owner=user, subject=subject)[:LISTED],
        "judges": list(LanguageModel.objects.available().select_related("endpoint")),
        "rubric": texts.RUBRIC,
        "rubric_max": RUBRIC_MAX_CHARACTERS,
    }
    return render(request, "evaluations/judging.html", context)


def _jobs(user: User, subject: Subject) -> QuerySet[Job]:
    named = {f"parameters__{key}": value for key, value in subject.parameters.items()}
    return Job.objects.filter(owner=user, kind=KIND, **named).order_by("-created_at")


def _start(
    request: HttpRequest, user: User, *, experiment_id: UUID | None, conversation_id: UUID | None
) -> HttpResponse:
    judge, mode, rubric = (request.POST.get(name, "") for name in ("judge", "mode", "rubric"))
    try:
        _job, number = judging_start(
            owner=user,
            judge=judge,
            mode=mode,
            rubric=rubric,
            experiment_id=experiment_id,
            conversation_id=conversation_id,
        )
    except NotFound:
        raise
    except TourneyError as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request,
            ngettext("%(number)d judgment is asked for.", "%(number)d judgments are asked for.", number)
            % {"number": number},
        )
    return redirect(request.path)
