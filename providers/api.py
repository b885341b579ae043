"""The catalogue for programs."""

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.api_views import checked
from common.audit import Deed, note
from providers.engines.services import engine_desired_set
from providers.engines.states import Wanted
from providers.models import Engine, LanguageModel
from providers.selectors import models_listed
from providers.serializers import EngineIn, EngineOut, LanguageModelOut


@extend_schema_view(get=extend_schema(operation_id="models_list"))
class ModelsView(ListAPIView[LanguageModel]):
    """The models that may be asked."""

    required_scopes = "read"
    serializer_class = LanguageModelOut
    queryset = models_listed()


@extend_schema_view(get=extend_schema(operation_id="engines_list"))
class EnginesView(ListAPIView[Engine]):
    """The engines that we run or watch, and how they are. Staff only."""

    required_scopes = "admin"
    serializer_class = EngineOut
    queryset = Engine.objects.all()


class EngineView(APIView):
    """One engine. Staff only."""

    required_scopes = {"GET": "admin", "PATCH": "admin"}

    @extend_schema(operation_id="engine_get", responses=EngineOut)
    def get(self, request: Request, slug: str) -> Response:
        return Response(EngineOut(get_object_or_404(Engine, slug=slug)).data)

    @extend_schema(operation_id="engine_want", request=EngineIn, responses=EngineOut)
    def patch(self, request: Request, slug: str) -> Response:
        """Start or wake it (awake), put it to sleep (asleep) or stop it (stopped). What it still answers is finished
        first; `state` says when it is done."""
        engine = get_object_or_404(Engine, slug=slug)
        wanted = checked(EngineIn, request.data)
        desired = Wanted(wanted["desired"])
        engine_desired_set(engine=engine, desired=desired)
        note(Deed(actor_id=request.user.pk, action="engine_want", subject=slug, detail={"desired": desired.value}))
        return Response(EngineOut(engine).data)
