"""Images for prompts, for programs and pages: uploaded one by one, then named by id in a prompt."""

from typing import Any, cast
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.idempotency import Idempotent
from accounts.models import Scope, User
from battles import services, state
from battles.serializers import ImageIn, ImageOut
from common.api import TooLarge
from common.api_views import checked

# What the form around the file takes at most.
FORM_MAX_BYTES = 16 * 1024


class ImagesView(Idempotent, APIView):
    required_scopes = Scope.RUN
    parser_classes = [MultiPartParser]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Before anybody reads the form, as Django's check of the CSRF token does."""
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > services.image_bytes_max() + FORM_MAX_BYTES:
            raise TooLarge
        super().initial(request, *args, **kwargs)

    @extend_schema(operation_id="images_create", request={"multipart/form-data": ImageIn}, responses={201: ImageOut})
    def post(self, request: Request) -> Response:
        """Upload an image. It is resized, loses its metadata, and is deleted after a day unless a prompt names it."""
        given = checked(ImageIn, request.data)
        image = services.image_add(owner=cast(User, request.user), file=given["file"])
        return Response(ImageOut(state.image_state(image)).data, status=201)


class ImageView(APIView):
    required_scopes = Scope.RUN

    @extend_schema(operation_id="images_delete", responses={204: None})
    def delete(self, request: Request, image_id: UUID) -> Response:
        """Delete an image that was not sent."""
        services.image_remove(image_id=image_id, owner=cast(User, request.user))
        return Response(status=204)
