"""What pages of several apps share."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache

View = Callable[..., HttpResponse]


def staff_only(view: View) -> View:
    """Strangers are sent to the log-in, others are refused."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not cast(Any, request.user).is_staff:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return login_required(never_cache(guarded))
