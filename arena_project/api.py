"""Whether the parts that Tourney stands on are up: for load balancers, supervisors and people."""

import logging
import os
import uuid
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from arena_project.celery import app as celery_app
from providers.models import LanguageModel

log = logging.getLogger(__name__)

BROKER_TIMEOUT_SECONDS = 1


class HealthSerializer(serializers.Serializer[dict[str, object]]):
    status = serializers.ChoiceField(choices=["ok", "down"])
    checks = serializers.DictField(
        child=serializers.CharField(),
        help_text="`ok` or `down` for database, cache and broker, which are needed; for models, how many can answer.",
    )


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _cache() -> None:
    name = f"health:{uuid.uuid4()}"
    cache.set(name, 1, timeout=5)
    if cache.get(name) != 1:
        raise RuntimeError("the cache forgot a value at once")
    cache.delete(name)


def _broker() -> None:
    if settings.CELERY_BROKER_URL.startswith("filesystem"):
        folder = Path(str(settings.CELERY_BROKER_TRANSPORT_OPTIONS["data_folder_out"]))
        if not os.access(folder, os.W_OK):
            raise RuntimeError("the broker's folder cannot be written")
        return
    with celery_app.connection_for_write(connect_timeout=BROKER_TIMEOUT_SECONDS) as broker:
        broker.ensure_connection(max_retries=1, timeout=BROKER_TIMEOUT_SECONDS)


NEEDED: dict[str, Callable[[], None]] = {"database": _database, "cache": _cache, "broker": _broker}


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
