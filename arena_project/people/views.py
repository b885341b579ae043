"""On the account page: take your data along, close the account. For programs, the same."""

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.errors import LastAdministrator, NotConfirmed
from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from accounts.serializers import JobOut
from accounts.services import account_close
from arena_project.people.exporting import account_export_request
from common.api_views import checked
from common.errors import TooMany
from common.limits import hit

CLOSINGS_PER_HOUR = 10


@login_required
@require_POST
def export(request: HttpRequest) -> HttpResponse:
    try:
        account_export_request(owner=cast(User, request.user))
    except TooMany as error:
        messages.error(request, str(error))
        return redirect("accounts:home")
    return redirect("accounts:jobs")


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def close(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {"days": settings.ACCOUNT_GRACE_DAYS}
    if request.method != "POST":
        return render(request, "accounts/close.html", context)
    user = cast(User, request.user)
    try:
        hit(f"closing:{user.pk}", limit=CLOSINGS_PER_HOUR, seconds=3600)
        account_close(user=user, confirmation=request.POST.get("confirm", ""))
    except (NotConfirmed, LastAdministrator, TooMany) as error:
        return render(request, "accounts/close.html", context | {"error": str(error)}, status=error.status)
    logout(request)
    messages.success(request, _("Your account is closed. Thank you for your votes."))
    return redirect("welcome")


class AccountOut(serializers.ModelSerializer[User]):
    """Yourself."""

    email = serializers.CharField(read_only=True, help_text="Empty where none was given.")

    class Meta:
        model = User
        fields = ["username", "email", "date_joined", "shares_data", "is_staff"]
        read_only_fields = fields


class AccountCloseIn(serializers.Serializer[Any]):
    confirm = serializers.CharField(help_text="Your user name.")


class ClosedOut(serializers.Serializer[Any]):
    erased_in_days = serializers.IntegerField()


class AccountView(APIView):
    required_scopes = {"GET": Scope.READ, "DELETE": Scope.RUN}

    @extend_schema(operation_id="account", responses=AccountOut)
    def get(self, request: Request) -> Response:
        """Who you are here."""
        return Response(AccountOut(cast(User, request.user)).data)

    @extend_schema(operation_id="account_close", request=AccountCloseIn, responses={202: ClosedOut})
    def delete(self, request: Request) -> Response:
        """Close your account. All keys stop working at once; the data is erased some days later, and until then an
        administrator can open the account again."""
        user = cast(User, request.user)
        hit(f"closing:{user.pk}", limit=CLOSINGS_PER_HOUR, seconds=3600)
        given = checked(AccountCloseIn, request.data)
        account_close(user=user, confirmation=given["confirm"])
        return Response({"erased_in_days": settings.ACCOUNT_GRACE_DAYS}, status=202)


class ExportMadeOut(serializers.Serializer[Any]):
    job = JobOut()


class AccountExportView(Idempotent, APIView):
    required_scopes = Scope.EXPORT

    @extend_schema(operation_id="account_export", request=None, responses={202: OpenApiResponse(ExportMadeOut)})
    def post(self, request: Request) -> Response:
        """Have a ZIP made of everything that is yours: profile, keys, battles, conversations, evaluations, usage."""
        job = account_export_request(owner=cast(User, request.user))
        return Response({"job": JobOut(job, context={"request": request}).data}, status=202)
