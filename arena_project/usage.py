"""What a person has used this month, as a page and for programs. Here, because it needs what several apps know."""

from datetime import UTC
from typing import cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope, User
from battles.blinding import usage_concealed
from providers.serializers import UsageOut
from providers.usage_summary import UsageSummary, usage_summary


def usage_of(user: User) -> UsageSummary:
    """This month without what would name the models of battles that the person has not voted on."""
    first = timezone.now().astimezone(UTC).date().replace(day=1)
    return usage_summary(user_id=user.pk, concealed=usage_concealed(user.pk, first))


@login_required
@require_safe
@never_cache
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/usage.html", {"usage": usage_of(cast(User, request.user))})


class UsageView(APIView):
    required_scopes = Scope.READ

    @extend_schema(operation_id="usage", responses=UsageOut)
    def get(self, request: Request) -> Response:
        """Your own answers, tokens and costs of this calendar month (UTC), and your budget."""
        return Response(UsageOut(usage_of(cast(User, request.user))).data)
