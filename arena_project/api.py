"""Whether the parts that Tourney stands on are up: for load balancers, supervisors and people."""

import logging
from collections.abc import Callable

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_project import readiness
from providers.models import LanguageModel

log = logging.getLogger(__name__)


class HealthSerializer(serializers.Serializer[dict[str, object]]):
    status = serializers.ChoiceField(choices=["ok", "down"])
    checks = serializers.DictField(
        child=serializers.CharField(),
        help_text="`ok` or `down` for database, cache and broker, which are needed; for models, how many can answer.",
    )


NEEDED: dict[str, Callable[[], None]] = {
    "database": readiness.database,
    "cache": readiness.cache_keeps,
    "broker": readiness.broker,
}


class HealthView(APIView):
    """A battle needs two models; without them pages and votes still work, so that alone is not `down`."""

    authentication_classes = []
    permission_classes = [AllowAny]
    throttle_classes = []

    @extend_schema(
        operation_id="health",
        responses={200: HealthSerializer, 503: OpenApiResponse(HealthSerializer, "A needed part is down.")},
    )
    def get(self, request: Request) -> Response:
        checks = {name: _state_of(name, check) for name, check in NEEDED.items()}
        is_up = all(state == "ok" for state in checks.values())
        if checks["database"] == "ok":
            checks["models"] = f"{LanguageModel.objects.available().count()} can answer"
        return Response({"status": "ok" if is_up else "down", "checks": checks}, status=200 if is_up else 503)


def _state_of(name: str, check: Callable[[], None]) -> str:
    """Details go to the log: an answer without a key must not tell addresses or passwords of other services."""
    try:
        check()
    except Exception as error:
        log.warning("the check of %s failed: %r", name, error)
        return "down"
    return "ok"
