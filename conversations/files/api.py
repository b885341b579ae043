"""Files of conversations for programs."""

from typing import Any, cast
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from common.api import FormatIsOurs
from common.api_views import checked
from conversations import selectors, services
from conversations.files.formats import FORMATS
from conversations.files.importing import FILE_MAX_BYTES, conversations_import


class ConversationExportIn(serializers.Serializer[Any]):
    format = serializers.ChoiceField(choices=list(FORMATS), default="json")


class ConversationsImportIn(serializers.Serializer[Any]):
    file = serializers.FileField(help_text="JSON as it is exported, or dialogues of speaker and content.")


class ConversationsImportOut(serializers.Serializer[Any]):
    conversations = serializers.ListField(child=serializers.CharField(), help_text="Their new ids.")


class ExportView(APIView):
    required_scopes = Scope.EXPORT
    content_negotiation_class = FormatIsOurs

    @extend_schema(
        operation_id="conversations_export",
        parameters=[ConversationExportIn],
        responses={(200, one.media_type.partition(";")[0]): OpenApiTypes.BINARY for one in FORMATS.values()},
    )
    def get(self, request: Request, conversation_id: UUID) -> HttpResponse:
        """The conversation as a file: JSON to keep, Markdown to read, JSON Lines or CSV of its turns to reckon with."""
        asked = checked(ConversationExportIn, request.query_params)
        name = asked["format"]
        conversation = selectors.conversation_whole(conversation_id=conversation_id, viewer=cast(User, request.user))
        services.conversation_named(conversation_id=conversation.pk)
        headers = {
            "Content-Disposition": f'attachment; filename="conversation-{conversation.id}.{name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        content = FORMATS[name].write(conversation).encode("utf-8", "replace")
        return HttpResponse(content, content_type=FORMATS[name].media_type, headers=headers)


class ImportView(Idempotent, APIView):
    required_scopes = Scope.RUN
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="conversations_import",
        request={"multipart/form-data": ConversationsImportIn},
        responses={201: OpenApiResponse(ConversationsImportOut)},
    )
    def post(self, request: Request) -> Response:
        """Import conversations, all of a file or nothing. What is wrong is said with the place where it stands."""
        given = checked(ConversationsImportIn, request.data)
        data = given["file"].read(FILE_MAX_BYTES + 1)
        made = conversations_import(owner=cast(User, request.user), data=data)
        return Response({"conversations": [str(one.id) for one in made]}, status=201)
