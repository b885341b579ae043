"""Imports for programs: a file is uploaded, and a job takes it in."""

from typing import Any, cast

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from accounts.serializers import JobOut
from battles.imports.work import battles_import_request, preferences_import_request
from common.api_views import checked


class BattlesImportIn(serializers.Serializer[Any]):
    file = serializers.FileField(help_text="JSON, JSON Lines or CSV, perhaps packed with gzip.")
    board = serializers.SlugField(max_length=50, help_text="Made if it is new.")
    dry_run = serializers.BooleanField(default=False, help_text="Only check, and say what would come.")


class PreferencesImportIn(serializers.Serializer[Any]):
    file = serializers.FileField(help_text="DPO, KTO or ShareGPT as JSON, JSON Lines or CSV, perhaps packed with gzip.")
    prompt_set = serializers.SlugField(max_length=50, help_text="Made if it is new.")
    dry_run = serializers.BooleanField(default=False, help_text="Only check, and say what would come.")


class ImportOut(serializers.Serializer[Any]):
    job = JobOut()


class BattlesImportView(Idempotent, APIView):
    required_scopes = Scope.ADMIN
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="imports_battles",
        request={"multipart/form-data": BattlesImportIn},
        responses={202: OpenApiResponse(ImportOut)},
    )
    def post(self, request: Request) -> Response:
        """Import battles in Chatbot Arena's shape into a board. The job tells what came, or which line is wrong."""
        data = checked(BattlesImportIn, request.data)
        job = battles_import_request(
            owner=cast(User, request.user), file=data["file"], board=data["board"], is_dry_run=data["dry_run"]
        )
        return Response({"job": JobOut(job, context={"request": request}).data}, status=202)


class PreferencesImportView(Idempotent, APIView):
    required_scopes = Scope.ADMIN
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="imports_preferences",
        request={"multipart/form-data": PreferencesImportIn},
        responses={202: OpenApiResponse(ImportOut)},
    )
    def post(self, request: Request) -> Response:
        """Import preferences with their texts into a prompt set. They are exported as `source=import`, never rated."""
        data = checked(PreferencesImportIn, request.data)
        job = preferences_import_request(
            owner=cast(User, request.user), file=data["file"], prompt_set=data["prompt_set"], is_dry_run=data["dry_run"]
        )
        return Response({"job": JobOut(job, context={"request": request}).data}, status=202)
