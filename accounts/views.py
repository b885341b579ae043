"""The account page and the log-in link. Sign-up, log-in and passwords are allauth's, with our templates."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts import jobs, proofs, selectors, services
from accounts.errors import JobNotFound, JobOver, KeyNotFound, LinkExpired
from accounts.forms import ApiKeyForm, SharingForm
from accounts.models import User
from common.errors import TooMany
from common.limits import hit

JOBS_SHOWN = 50
KEYS_PER_HOUR = 30
# From one address; a school shares one.
PROOFS_PER_MINUTE = 240
BACKEND = "django.contrib.auth.backends.ModelBackend"


def _page(
    request: HttpRequest, *, form: ApiKeyForm | None = None, new_key: str = "", status: int = 200
) -> HttpResponse:
    user = cast(User, request.user)
    context = {
        "sharing_form": SharingForm(instance=user),
        "key_form": form or ApiKeyForm(user=user),
        "keys": selectors.apikeys_of(user),
        "new_key": new_key,
    }
    return render(request, "accounts/home.html", context, status=status)


@login_required
@require_GET
@never_cache
def home(request: HttpRequest) -> HttpResponse:
    return _page(request)


@login_required
@require_POST
def sharing(request: HttpRequest) -> HttpResponseRedirect:
    form = SharingForm(request.POST)
    if form.is_valid():
        services.user_share(user=cast(User, request.user), shares_data=form.cleaned_data["shares_data"])
        messages.success(request, _("Your choice is saved."))
    return redirect("accounts:home")


@login_required
@require_POST
@never_cache
def key_make(request: HttpRequest) -> HttpResponse:
    """Answers with the page itself and no redirect: a redirect would have to keep the key somewhere meanwhile."""
    user = cast(User, request.user)
    form = ApiKeyForm(request.POST, user=user)
    try:
        hit(f"keys:{user.pk}", limit=KEYS_PER_HOUR, seconds=3600)
    except TooMany as error:
        form.add_error(None, str(error))
    if not form.is_valid():
        return _page(request, form=form, status=400)
    _key, text = services.apikey_issue(user=user, **form.values())
    return _page(request, new_key=text)


@login_required
@require_POST
def key_revoke(request: HttpRequest, key_id: int) -> HttpResponseRedirect:
    try:
        services.apikey_revoke(user=cast(User, request.user), apikey_id=key_id)
        messages.success(request, _("The key is revoked. Programs that use it are refused from now on."))
    except KeyNotFound as error:
        messages.error(request, str(error))
    return redirect("accounts:home")


@login_required
@require_GET
@never_cache
def job_list(request: HttpRequest) -> HttpResponse:
    rows = list(selectors.jobs_of(cast(User, request.user))[:JOBS_SHOWN])
    context = {"jobs": rows, "is_busy": any(not job.is_over for job in rows)}
    return render(request, "accounts/jobs.html", context)


@login_required
@require_POST
def job_cancel(request: HttpRequest, job_id: UUID) -> HttpResponseRedirect:
    try:
        jobs.job_cancel(owner=cast(User, request.user), job_id=job_id)
    except (JobNotFound, JobOver) as error:
        messages.error(request, str(error))
    return redirect("accounts:jobs")


@require_GET
@never_cache
def proof(request: HttpRequest, purpose: str) -> JsonResponse:
    """A task for the page's script, where this server wants one for that."""
    if not proofs.is_asked(purpose) or (purpose == proofs.VOTE and not request.user.is_authenticated):
        raise Http404
    try:
        hit(f"proof:{request.META.get('REMOTE_ADDR', '')}", limit=PROOFS_PER_MINUTE, seconds=60)
    except TooMany as error:
        return JsonResponse({}, status=error.status, headers={"Retry-After": str(int(error.retry_after) + 1)})
    who = str(request.user.pk) if purpose == proofs.VOTE else ""
    return JsonResponse(proofs.task_make(purpose=purpose, who=who))


@require_GET
@never_cache
def link(request: HttpRequest, uid: str, token: str) -> HttpResponse:
    """Log in by a one-time link and go on to a battle.

    A plain GET, as notebook servers do, so that a click in the terminal is enough. What merely looks at links must
    not use one up: HEAD is refused, and so is a browser that says that it only fetches ahead.
    """
    if "prefetch" in request.headers.get("Sec-Purpose", request.headers.get("Purpose", "")):
        return HttpResponse(status=503)
    try:
        user = services.login_link_use(uid=uid, token=token)
    except LinkExpired as error:
        if request.user.is_authenticated:  # the page was loaded again
            return redirect("battles:new")
        return render(request, "accounts/link_expired.html", {"message": str(error)}, status=error.status)
    login(request, user, backend=BACKEND)
    return redirect("battles:new")
